#include "protocol/http_request.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include <boost/beast/http/basic_parser.hpp>

#include "core/base/check.h"
#include "core/base/heap_bytes.h"
#include "protocol/http_status.h"

namespace weir {
namespace {

namespace beast = boost::beast;

// The room that ShrinkBuffers leaves allocated: fields, and bytes of a head and of a body.
constexpr std::size_t kFieldsKept = 16;
constexpr std::size_t kHeadKept = 512;
constexpr std::size_t kBodyKept = 256;

// The bytes of a chunk line that a size of 64 bits needs: CRLF, 16 digits, CRLF.
constexpr std::size_t kChunkSizeLineBytes = 20;
static_assert(kChunkSizeLineBytes < kHttpChunkLineBytesMax);
static_assert(kHttpChunkLineBytesMax < kHttpTrailerBytesMax);
static_assert(kHttpTrailerBytesMax < kHttpHeadBytesMax);

constexpr std::string_view kCrlf = "\r\n";

bool IsTokenByte(char byte) {
  return absl::ascii_isalnum(static_cast<unsigned char>(byte)) ||
         std::string_view("!#$%&'*+-.^_`|~").find(byte) != std::string_view::npos;
}

// True if the line of a chunk, without the CRLF before it, begins with a size of 0.
bool IsLastChunk(std::string_view line) {
  const std::size_t zeros = std::min(line.find_first_not_of('0'), line.size());
  if (zeros == 0) return false;
  return zeros == line.size() ||
         std::string_view("123456789abcdefABCDEF").find(line[zeros]) == std::string_view::npos;
}

}  // namespace

// Beast's parser of one request. It is given whole heads, chunk lines and trailers, and bytes of
// chunks as they come.
class HttpRequestParser::Grammar final : public beast::http::basic_parser<true> {
 public:
  // Appends the fields of the head to `fields`, which must outlive it.
  explicit Grammar(std::vector<HttpField>* fields) : fields_(fields) {
    // Our own bounds are narrower. (Beast 1.74 reads a missing body limit as a limit of 0.)
    header_limit(kHttpHeadBytesMax + 1);
    body_limit(std::numeric_limits<std::uint64_t>::max());
  }

  // Reads on in `bytes`; returns the bytes read. Bytes that are left unread are an error, too: see
  // failed().
  std::size_t Read(std::string_view bytes) {
    beast::error_code error;
    const std::size_t read = put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
    failed_ = failed_ || error || read != bytes.size();
    has_too_large_a_body_ = error == beast::http::error::body_limit;
    return read;
  }

  [[nodiscard]] bool failed() const { return failed_; }
  // True if the chunks add up to 2^64 bytes or more, which Beast detects before our own limit can.
  [[nodiscard]] bool has_too_large_a_body() const { return has_too_large_a_body_; }
  [[nodiscard]] bool has_too_many_fields() const { return fields_seen_ > kHttpFieldsMax; }
  [[nodiscard]] std::string_view method() const { return method_; }
  [[nodiscard]] std::string_view target() const { return target_; }
  [[nodiscard]] int minor_version() const { return minor_version_; }
  [[nodiscard]] std::uint64_t chunk_bytes() const { return chunk_bytes_; }

 private:
  using Text = beast::string_view;

  static std::string_view View(Text text) { return {text.data(), text.size()}; }

  void on_request_impl(beast::http::verb /*verb*/, Text method, Text target, int version,
                       beast::error_code& /*error*/) override {
    method_ = View(method);
    target_ = View(target);
    minor_version_ = version % 10;
  }
  void on_response_impl(int /*code*/, Text /*reason*/, int /*version*/,
                        beast::error_code& /*error*/) override {}
  // Fields of the head are kept, those of trailers are not.
  void on_field_impl(beast::http::field /*field*/, Text name, Text value,
                     beast::error_code& error) override {
    if (++fields_seen_ > kHttpFieldsMax) {
      error = beast::http::error::header_limit;
    } else if (!is_header_done()) {
      fields_->push_back({View(name), View(value)});
    }
  }
  void on_header_impl(beast::error_code& /*error*/) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>& /*bytes*/,
                         beast::error_code& /*error*/) override {}
  std::size_t on_body_impl(Text body, beast::error_code& /*error*/) override { return body.size(); }
  void on_chunk_header_impl(std::uint64_t bytes, Text /*extensions*/,
                            beast::error_code& /*error*/) override {
    chunk_bytes_ = bytes;
  }
  std::size_t on_chunk_body_impl(std::uint64_t /*left*/, Text body,
                                 beast::error_code& /*error*/) override {
    return body.size();
  }
  void on_finish_impl(beast::error_code& /*error*/) override {}

  std::vector<HttpField>* fields_;
  std::size_t fields_seen_ = 0;
  std::string_view method_;
  std::string_view target_;
  int minor_version_ = 0;
  std::uint64_t chunk_bytes_ = 0;
  bool failed_ = false;
  bool has_too_large_a_body_ = false;
};

HttpRequestParser::HttpRequestParser() : grammar_(std::make_unique<Grammar>(&fields_)) {}
HttpRequestParser::~HttpRequestParser() = default;

HttpResult HttpRequestParser::Parse(std::string_view unread) {
  WEIR_CHECK(stage_ != Stage::kChoice);
  consumed_ = 0;
  if (error_status_ != 0) return HttpResult::kError;
  switch (stage_) {
    case Stage::kHead:
      return ParseHead(unread);
    case Stage::kPlainBody:
      return ParsePlainBody(unread);
    default:
      return ParseChunks(unread);
  }
}

HttpResult HttpRequestParser::ParseHead(std::string_view unread) {
  head_ = {};
  body_ = {};
  if (scanned_ == 0) {
    if (!skipped_empty_line_ && unread == "\r") return HttpResult::kNeedMore;
    if (!skipped_empty_line_ && unread.starts_with(kCrlf)) {
      skipped_empty_line_ = true;
      consumed_ = kCrlf.size();
      unread.remove_prefix(kCrlf.size());
    }
    if (unread.empty()) return HttpResult::kNeedMore;
    // A client of TLS, say, is not kept waiting for a line end that it may never send.
    if (!IsTokenByte(unread.front())) return Fail(kHttpBadRequest, "no method");
  }
  // The head must end within these bytes.
  const std::string_view window = unread.substr(0, kHttpHeadBytesMax);
  std::size_t end = 0;
  if (const Stop stop = FindEmptyLine(window, end)) return *stop;
  if (end > 0) return FinishHead(window.substr(0, end));
  if (window.size() < kHttpHeadBytesMax) return HttpResult::kNeedMore;
  if (line_begin_ == 0) return Fail(kHttpUriTooLong, "too long a request line");
  return Fail(kHttpFieldsTooLarge, "too large a head");
}

HttpRequestParser::Stop HttpRequestParser::FindEmptyLine(std::string_view lines, std::size_t& end) {
  WEIR_CHECK(scanned_ <= lines.size());
  for (;;) {
    const std::size_t line_feed = lines.find('\n', scanned_);
    if (line_feed == std::string_view::npos) {
      scanned_ = lines.size();
      return std::nullopt;
    }
    const std::string_view line = lines.substr(line_begin_, line_feed + 1 - line_begin_);
    if (const Stop stop = CheckLine(line)) return stop;
    const bool is_request_line = stage_ == Stage::kHead && line_begin_ == 0;
    if (is_request_line) {
      const std::string_view text = line.substr(0, line.size() - kCrlf.size());
      if (const auto error = CheckVersion(text)) return Fail(error->status, error->what);
    }
    line_begin_ = line_feed + 1;
    scanned_ = line_begin_;
    if (line == kCrlf) {
      end = line_begin_;
      return std::nullopt;
    }
  }
}

// `line` ends with its LF.
HttpRequestParser::Stop HttpRequestParser::CheckLine(std::string_view line) {
  if (!line.ends_with(kCrlf)) return Fail(kHttpBadRequest, "bare LF");
  line.remove_suffix(kCrlf.size());
  if (line.find('\r') != std::string_view::npos) return Fail(kHttpBadRequest, "bare CR");
  if (line.find('\0') != std::string_view::npos) return Fail(kHttpBadRequest, "NUL");
  if (line.starts_with(' ') || line.starts_with('\t')) {
    return Fail(kHttpBadRequest, "a line that begins with a blank");
  }
  return std::nullopt;
}

HttpResult HttpRequestParser::FinishHead(std::string_view head) {
  fields_.clear();
  *grammar_ = Grammar(&fields_);
  grammar_->Read(head);
  if (grammar_->has_too_many_fields()) return Fail(kHttpFieldsTooLarge, "too many fields");
  if (grammar_->failed()) return Fail(kHttpBadRequest, "bad request line or field");
  head_.method = grammar_->method();
  head_.target = grammar_->target();
  head_.minor_version = grammar_->minor_version();
  head_.fields = fields_;
  if (const auto error = ReadHead(head_)) return Fail(error->status, error->what);
  WEIR_CHECK(grammar_->chunked() == head_.chunked);

  consumed_ += head.size();
  head_bytes_ = head;
  BeginLines();
  if (!head_.chunked && head_.content_length.value_or(0) == 0) return FinishRequest();
  CopyHead(head);
  body_copy_.clear();
  body_bytes_ = 0;
  chunk_bytes_left_ = 0;
  chunk_extra_bytes_ = 0;
  may_continue_ = head_.expects_continue;
  stage_ = Stage::kChoice;
  return HttpResult::kHead;
}

// Makes the views of head_ point into head_copy_, so that the head may be consumed before its body.
void HttpRequestParser::CopyHead(std::string_view head) {
  head_copy_.assign(head);
  const auto move = [&](std::string_view& view) {
    // The "/" of a target without a path lies elsewhere.
    if (view.data() < head.data() || view.data() > head.data() + head.size()) return;
    view = {head_copy_.data() + (view.data() - head.data()), view.size()};
  };
  for (std::string_view* const view :
       {&head_.method, &head_.target, &head_.path, &head_.query, &head_.host}) {
    move(*view);
  }
  for (HttpField& field : fields_) {
    move(field.name);
    move(field.value);
  }
  head_bytes_ = head_copy_;
}

void HttpRequestParser::Hold() {
  WEIR_CHECK(stage_ == Stage::kHead && !head_.method.empty());
  if (head_bytes_.data() != head_copy_.data()) CopyHead(head_bytes_);
  if (body_.empty() || body_.data() == body_copy_.data()) return;
  body_copy_.assign(body_);
  body_ = body_copy_;
}

void HttpRequestParser::ChooseBody(bool keep, std::uint64_t bytes_max) noexcept {
  WEIR_CHECK(stage_ == Stage::kChoice);
  keeps_body_ = keep;
  body_bytes_max_ = bytes_max;
  stage_ = head_.chunked ? Stage::kChunkLine : Stage::kPlainBody;
}

HttpResult HttpRequestParser::ParsePlainBody(std::string_view unread) {
  const std::uint64_t length = *head_.content_length;
  if (length > body_bytes_max_) return Fail(kHttpContentTooLarge, "too large a body");
  WEIR_DCHECK(body_bytes_ < length);
  const std::string_view part = unread.substr(0, length - body_bytes_);
  consumed_ = part.size();
  const bool arrived_whole = part.size() == length;
  if (keeps_body_ && !arrived_whole) body_copy_.append(part);
  body_bytes_ += part.size();
  if (body_bytes_ < length) return HttpResult::kNeedMore;
  if (keeps_body_) body_ = arrived_whole ? part : body_copy_;
  return FinishRequest();
}

HttpResult HttpRequestParser::ParseChunks(std::string_view unread) {
  for (;;) {
    const std::string_view rest = unread.substr(consumed_);
    Stop stop;
    switch (stage_) {
      case Stage::kChunkLine:
        stop = ReadChunkLine(rest);
        break;
      case Stage::kChunkData:
        stop = ReadChunkData(rest);
        break;
      default:
        stop = ReadTrailers(rest);
    }
    if (stop) return *stop;
  }
}

// Reads the line of a chunk, which begins with the CRLF that ends the chunk before it. (Beast reads
// both in one.) The line of the last chunk is left to ReadTrailers, as Beast reads these in one.
HttpRequestParser::Stop HttpRequestParser::ReadChunkLine(std::string_view unread) {
  const std::string_view window = unread.substr(0, kHttpChunkLineBytesMax);
  if (body_bytes_ > 0 && line_begin_ == 0) {
    if (window.substr(0, 2) != kCrlf.substr(0, window.size())) {
      return Fail(kHttpBadRequest, "a chunk that does not end where it should");
    }
    if (window.size() < kCrlf.size()) return HttpResult::kNeedMore;
    line_begin_ = kCrlf.size();
    scanned_ = line_begin_;
  }
  const std::size_t line_feed = window.find('\n', scanned_);
  if (line_feed == std::string_view::npos) {
    scanned_ = window.size();
    if (window.size() < kHttpChunkLineBytesMax) return HttpResult::kNeedMore;
    return Fail(kHttpBadRequest, "too long a chunk line");
  }
  const std::string_view line = window.substr(0, line_feed + 1);
  if (const Stop stop = CheckLine(line.substr(line_begin_))) return stop;
  chunk_extra_bytes_ += line.size() - std::min(line.size(), kChunkSizeLineBytes);
  if (chunk_extra_bytes_ > kHttpChunkExtraBytesMax) {
    return Fail(kHttpBadRequest, "too many chunk extensions");
  }
  if (IsLastChunk(line.substr(line_begin_))) {
    scanned_ = line.size();
    line_begin_ = line.size();
    stage_ = Stage::kTrailers;
    return std::nullopt;
  }
  grammar_->Read(line);
  if (grammar_->failed() && !grammar_->has_too_large_a_body()) {
    return Fail(kHttpBadRequest, "bad chunk line");
  }
  chunk_bytes_left_ = grammar_->chunk_bytes();
  if (grammar_->has_too_large_a_body() || chunk_bytes_left_ > body_bytes_max_ - body_bytes_) {
    return Fail(kHttpContentTooLarge, "too large a body");
  }
  consumed_ += line.size();
  BeginLines();
  stage_ = Stage::kChunkData;
  return std::nullopt;
}

HttpRequestParser::Stop HttpRequestParser::ReadChunkData(std::string_view data) {
  if (data.empty()) return HttpResult::kNeedMore;
  data = data.substr(0, chunk_bytes_left_);
  const std::size_t read = grammar_->Read(data);
  WEIR_CHECK(read == data.size());
  if (keeps_body_) body_copy_.append(data);
  consumed_ += data.size();
  body_bytes_ += data.size();
  chunk_bytes_left_ -= data.size();
  if (chunk_bytes_left_ == 0) stage_ = Stage::kChunkLine;
  return std::nullopt;
}

HttpRequestParser::Stop HttpRequestParser::ReadTrailers(std::string_view unread) {
  const std::string_view window = unread.substr(0, kHttpTrailerBytesMax);
  std::size_t end = 0;
  if (const Stop stop = FindEmptyLine(window, end)) return stop;
  if (end == 0) {
    if (window.size() < kHttpTrailerBytesMax) return HttpResult::kNeedMore;
    return Fail(kHttpFieldsTooLarge, "too large trailers");
  }
  grammar_->Read(window.substr(0, end));
  if (grammar_->has_too_many_fields()) return Fail(kHttpFieldsTooLarge, "too many fields");
  if (grammar_->failed()) return Fail(kHttpBadRequest, "bad last chunk or trailer");
  WEIR_CHECK(grammar_->is_done());
  consumed_ += end;
  if (keeps_body_) body_ = body_copy_;
  return FinishRequest();
}

bool HttpRequestParser::TakeContinue() noexcept {
  const bool waits = stage_ != Stage::kHead && stage_ != Stage::kChoice && body_bytes_ == 0 &&
                     scanned_ == 0 && error_status_ == 0;
  return std::exchange(may_continue_, false) && waits;
}

void HttpRequestParser::BeginLines() noexcept {
  line_begin_ = 0;
  scanned_ = 0;
}

HttpResult HttpRequestParser::FinishRequest() {
  BeginLines();
  skipped_empty_line_ = false;
  may_continue_ = false;
  stage_ = Stage::kHead;
  return HttpResult::kRequest;
}

HttpResult HttpRequestParser::Fail(int status, std::string_view what) noexcept {
  WEIR_CHECK(error_status_ == 0);
  head_ = {};
  body_ = {};
  error_status_ = status;
  error_ = what;
  return HttpResult::kError;
}

void HttpRequestParser::ShrinkBuffers() noexcept {
  if (stage_ != Stage::kHead) return;
  head_ = {};
  body_ = {};
  fields_.clear();
  if (fields_.capacity() > kFieldsKept) fields_ = std::vector<HttpField>();
  if (head_copy_.capacity() > kHeadKept) std::string().swap(head_copy_);
  if (body_copy_.capacity() > kBodyKept) std::string().swap(body_copy_);
}

void HttpRequestParser::Wipe() noexcept {
  if (stage_ != Stage::kHead) return;
  head_ = {};
  body_ = {};
  for (std::string* const copy : {&head_copy_, &body_copy_}) {
    copy->resize(copy->capacity());  // Bytes of earlier requests may lie behind its end.
    explicit_bzero(copy->data(), copy->size());
    copy->clear();
  }
}

void HttpRequestParser::Abandon() noexcept {
  stage_ = Stage::kHead;
  Wipe();
  ShrinkBuffers();
}

std::size_t HttpRequestParser::held_bytes() const noexcept {
  return sizeof(Grammar) + HeapBytes(fields_) + HeapBytes(head_copy_) + HeapBytes(body_copy_);
}

}  // namespace weir
