#include "protocol/resp_parser.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "protocol/inline_words.h"
#include "protocol/integer.h"

namespace weir {
namespace {

// The room that ShrinkBuffers leaves allocated: words, and bytes of unquoted text.
constexpr std::size_t kWordsKept = 32;
constexpr std::size_t kUnquotedKept = 256;

// The largest numbers that Redis accepts from an authenticated client.
constexpr std::int64_t kRedisCountMax = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kRedisLengthMax = std::int64_t{512} * 1024 * 1024;

// Our caps decide only about numbers that Redis would accept, and less is allowed before AUTH.
static_assert(kRespCaps.args_max <= kRedisCountMax);
static_assert(kRespCaps.arg_bytes_max <= kRedisLengthMax);
static_assert(kRespCapsBeforeAuth.args_max <= kRespCaps.args_max);
static_assert(kRespCapsBeforeAuth.arg_bytes_max <= kRespCaps.arg_bytes_max);
static_assert(kRespCapsBeforeAuth.request_bytes_max <= kRespCaps.request_bytes_max);

bool EqualsIgnoreCase(std::string_view left, std::string_view right) {
  return absl::EqualsIgnoreCase(AbslView(left), AbslView(right));
}

// True if an HTTP client sent this line: a request line, or the header that comes first after an
// unknown method.
bool IsForeign(std::string_view line) {
  const auto begin = std::find_if_not(line.begin(), line.end(), IsBlank);
  const std::string_view first_word(begin, std::find_if(begin, line.end(), IsBlank));
  return EqualsIgnoreCase(first_word, "POST") || EqualsIgnoreCase(first_word, "Host:") ||
         line.find(" HTTP/1") != std::string_view::npos;
}

// Reads a length line whose number has one to three digits: "*3" CRLF. Returns its end, or null if
// it is no such line. Requires: kShortLineBytesMax bytes at `at`; it reads no more than these.
constexpr std::size_t kShortDigitsMax = 3;
constexpr std::size_t kShortLineBytesMax = 1 + kShortDigitsMax + 2;
ABSL_ATTRIBUTE_ALWAYS_INLINE inline const char* ReadShortLine(const char* at, char type,
                                                              std::size_t& number) noexcept {
  const auto digit = [](char byte) { return static_cast<std::size_t>(byte - '0'); };
  if (*at++ != type) return nullptr;
  std::size_t value = digit(*at++);
  if (value > 9) return nullptr;
  for (std::size_t digits = 1; digits < kShortDigitsMax && *at != '\r'; ++digits) {
    if (value == 0 || digit(*at) > 9) return nullptr;
    value = value * 10 + digit(*at++);
  }
  if (at[0] != '\r' || at[1] != '\n') return nullptr;
  number = value;
  return at + 2;
}

}  // namespace

struct RespParser::LengthLine {
  char type;
  std::int64_t min;
  std::int64_t redis_max;
  std::int64_t RespCaps::*cap;
  std::string_view too_long;
  std::string_view invalid;
  std::string_view unauthenticated;
};

constexpr RespParser::LengthLine RespParser::kCount = {
    .type = '*',
    .min = std::numeric_limits<std::int64_t>::min(),
    .redis_max = kRedisCountMax,
    .cap = &RespCaps::args_max,
    .too_long = "too big mbulk count string",
    .invalid = "invalid multibulk length",
    .unauthenticated = "unauthenticated multibulk length",
};

constexpr RespParser::LengthLine RespParser::kBulkLength = {
    .type = '$',
    .min = 0,
    .redis_max = kRedisLengthMax,
    .cap = &RespCaps::arg_bytes_max,
    .too_long = "too big bulk count string",
    .invalid = "invalid bulk length",
    .unauthenticated = "unauthenticated bulk length",
};

RespParser::RespParser(const RespCaps& caps) noexcept : caps_(caps) {
  WEIR_CHECK(IsConsistent(caps));
}

void RespParser::set_caps(const RespCaps& caps) noexcept {
  WEIR_CHECK(IsConsistent(caps));
  WEIR_CHECK(position_ == 0);
  WEIR_CHECK(scanned_ == 0);
  caps_ = caps;
}

void RespParser::Restart() noexcept {
  position_ = 0;
  scanned_ = 0;
  words_missing_ = 0;
  bulk_bytes_ = -1;
  extents_.clear();
  error_.clear();
  failure_.reset();
}

void RespParser::ShrinkBuffers() noexcept {
  words_.clear();
  if (words_.capacity() > kWordsKept) words_ = std::vector<std::string_view>();
  if (extents_.empty() && extents_.capacity() > kWordsKept) extents_ = std::vector<Extent>();
  if (unquoted_.capacity() > kUnquotedKept) std::string().swap(unquoted_);
}

void RespParser::Wipe() noexcept {
  words_.clear();
  unquoted_.resize(unquoted_.capacity());  // Words of earlier requests may lie behind its end.
  explicit_bzero(unquoted_.data(), unquoted_.size());
  unquoted_.clear();
}

ParseResult RespParser::Parse(std::string_view unread) {
  consumed_ = 0;
  words_.clear();
  words_are_in_input_ = true;
  if (failure_.has_value()) return *failure_;
  for (;;) {
    const std::string_view request = unread.substr(consumed_);
    if (request.empty()) return ParseResult::kNeedMore;
    const ParseResult result =
        request.front() == '*' ? ParseMultibulk(request) : ParseInline(request);
    WEIR_DCHECK(consumed_ <= unread.size());
    const bool is_empty_request = result == ParseResult::kCommand && words_.empty();
    if (!is_empty_request) return result;
  }
}

ParseResult RespParser::ParseInline(std::string_view request) {
  WEIR_CHECK(scanned_ <= request.size());
  WEIR_DCHECK(position_ == 0);
  // The line must end within these bytes.
  const std::string_view window = request.substr(0, caps_.line_bytes_max + 1);
  const std::size_t end = window.find('\n', scanned_);
  if (end == std::string_view::npos) {
    if (window.size() > caps_.line_bytes_max) {
      return Fail(ParseResult::kProtocolError, "too big inline request");
    }
    scanned_ = window.size();
    return NeedMore(request);
  }
  const std::string_view line = request.substr(0, end);
  if (IsForeign(line)) return Fail(ParseResult::kForeignProtocol, "");
  words_are_in_input_ = line.find_first_of("\"'") == std::string_view::npos;
  const absl::Status split =
      SplitInlineWords(line, static_cast<std::size_t>(caps_.args_max), words_, unquoted_);
  if (!split.ok()) {
    return Fail(ParseResult::kProtocolError, StdView(split.message()));
  }
  return FinishRequest(end + 1);
}

// The fast path: reads a request that has arrived whole, has short numbers and keeps the caps, as
// almost every request does. Otherwise returns false and changes nothing; the general path then
// says what is missing or wrong. (A request of three words costs 60 instructions a word, not 240.)
bool RespParser::ReadPlain(std::string_view request) {
  // In a whole request every length line is followed by two more bytes or by another line, so
  // ReadShortLine finds the bytes that it requires.
  const char* const end = request.data() + std::min(request.size(), caps_.request_bytes_max);
  const char* at = request.data();
  const auto left = [&at, end] { return static_cast<std::size_t>(end - at); };
  std::size_t count = 0;
  if (left() < kShortLineBytesMax || !(at = ReadShortLine(at, kCount.type, count))) return false;
  if (count == 0 || std::cmp_greater(count, caps_.args_max)) return false;
  for (; count > 0; --count) {
    std::size_t bytes = 0;
    if (left() < kShortLineBytesMax || !(at = ReadShortLine(at, kBulkLength.type, bytes))) break;
    if (std::cmp_greater(bytes, caps_.arg_bytes_max) || left() < bytes + 2) break;
    if (at[bytes] != '\r' || at[bytes + 1] != '\n') break;
    words_.emplace_back(at, bytes);
    at += bytes + 2;
  }
  if (count > 0) {
    words_.clear();
    return false;
  }
  position_ = static_cast<std::size_t>(at - request.data());
  return true;
}

ParseResult RespParser::ParseMultibulk(std::string_view request) {
  const bool is_new = position_ == 0 && scanned_ == 0;
  if (is_new && ReadPlain(request)) return FinishRequest(position_);
  WEIR_CHECK(position_ <= request.size());
  if (position_ == 0) {
    if (const Stop stop = ReadLength(request, kCount, words_missing_)) return *stop;
  }
  while (words_missing_ > 0) {
    if (bulk_bytes_ < 0) {
      if (const Stop stop = ReadLength(request, kBulkLength, bulk_bytes_)) return *stop;
    }
    if (const Stop stop = ReadBulk(request, static_cast<std::size_t>(bulk_bytes_))) return *stop;
  }
  for (const auto [offset, bytes] : extents_) words_.push_back(request.substr(offset, bytes));
  return FinishRequest(position_);
}

// Reads the length line at position_: sets `length` and moves position_ behind the line. Where it
// stops instead, both stay as they were.
RespParser::Stop RespParser::ReadLength(std::string_view request, const LengthLine& kind,
                                        std::int64_t& length) {
  // The CR must lie before `bound`: within the cap on lines, and with room for its LF within the
  // cap on requests.
  const std::size_t line_bound = position_ + caps_.line_bytes_max + 1;
  const std::size_t bound = std::min(line_bound, caps_.request_bytes_max - 1);
  const std::size_t available = std::min(request.size(), bound);
  if (position_ < available && request[position_] != kind.type) {
    return Fail(ParseResult::kProtocolError,
                std::string("expected '$', got '") + request[position_] + "'");
  }
  std::size_t end = std::max(scanned_, position_);
  while (end < available && request[end] != '\r' && request[end] != '\n') ++end;
  scanned_ = end;
  if (end >= bound) {
    return Fail(ParseResult::kProtocolError,
                bound == line_bound ? kind.too_long : "too big request");
  }
  if (end == request.size()) return NeedMore(request);
  if (request[end] == '\n') return Fail(ParseResult::kProtocolError, kind.invalid);
  if (end + 1 == request.size()) return NeedMore(request);

  const std::optional<std::int64_t> number =
      ParseInteger(request.substr(position_ + 1, end - position_ - 1));
  if (request[end + 1] != '\n' || !number.has_value() || *number < kind.min ||
      *number > kind.redis_max) {
    return Fail(ParseResult::kProtocolError, kind.invalid);
  }
  if (*number > caps_.*kind.cap) {
    return Fail(ParseResult::kProtocolError,
                caps_.authenticated ? kind.invalid : kind.unauthenticated);
  }
  position_ = end + 2;
  length = *number;
  return std::nullopt;
}

// Reads the bulk of `bytes` bytes at position_, and moves position_ behind its CRLF.
RespParser::Stop RespParser::ReadBulk(std::string_view request, std::size_t bytes) {
  WEIR_DCHECK(words_missing_ > 0);
  WEIR_DCHECK(std::cmp_less_equal(bytes, caps_.arg_bytes_max));
  const std::size_t end = position_ + bytes;
  if (end + 2 > caps_.request_bytes_max) {
    return Fail(ParseResult::kProtocolError, "too big request");
  }
  if (request.size() < end + 2) return NeedMore(request);
  if (request.substr(end, 2) != "\r\n") {
    return Fail(ParseResult::kProtocolError, kBulkLength.invalid);
  }
  extents_.push_back({static_cast<std::uint32_t>(position_), static_cast<std::uint32_t>(bytes)});
  position_ = end + 2;
  bulk_bytes_ = -1;
  --words_missing_;
  return std::nullopt;
}

ParseResult RespParser::FinishRequest(std::size_t request_bytes) {
  WEIR_DCHECK(request_bytes > 0);  // so that Parse() comes to an end
  WEIR_CHECK(request_bytes <= caps_.request_bytes_max);
  WEIR_DCHECK(std::cmp_less_equal(words_.size(), caps_.args_max));
  WEIR_DCHECK(bulk_bytes_ < 0);
  consumed_ += request_bytes;
  position_ = 0;
  scanned_ = 0;
  extents_.clear();
  return ParseResult::kCommand;
}

// Leaves `request` unconsumed: it fills no buffer of request_bytes_max bytes.
ParseResult RespParser::NeedMore(std::string_view request) const {
  WEIR_CHECK(request.size() < caps_.request_bytes_max);
  return ParseResult::kNeedMore;
}

// Ends the stream. `what` is empty for a foreign protocol, which gets no reply.
ParseResult RespParser::Fail(ParseResult result, std::string_view what) {
  WEIR_CHECK(!failure_.has_value());
  if (!what.empty()) error_ = std::string("Protocol error: ").append(what);
  WEIR_CHECK(error_.size() <= kProtocolErrorBytesMax);
  words_.clear();
  failure_ = result;
  return result;
}

}  // namespace weir
