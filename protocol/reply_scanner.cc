#include "protocol/reply_scanner.h"

#include <algorithm>
#include <optional>

#include "core/base/check.h"
#include "protocol/integer.h"
#include "protocol/resp_writer.h"

namespace weir {
namespace {

constexpr std::string_view kEnd = "\r\n";
constexpr std::string_view kText = "txt:";

bool IsAggregate(char kind) { return kind == '*' || kind == '%' || kind == '~' || kind == '>'; }

// The number of a header: of bytes or elements; -1: there is none.
std::optional<std::int64_t> ReadCount(std::string_view line) {
  const std::optional<std::int64_t> count = ParseInteger(line.substr(1));
  if (!count || *count < -1 || *count > static_cast<std::int64_t>(kReplyBytesMax)) {
    return std::nullopt;
  }
  return count;
}

// The line at the front, without its end, which must be there.
std::string_view LineOf(std::string_view bytes) { return bytes.substr(0, bytes.find(kEnd)); }

// Reads the value at the front, and removes it.
Reply TakeValue(std::string_view& bytes) {
  const std::string_view line = LineOf(bytes);
  bytes.remove_prefix(line.size() + kEnd.size());
  Reply reply;
  reply.kind = line.front();
  reply.text = line.substr(1);
  if (reply.kind == ':') reply.number = ParseInteger(reply.text).value_or(0);
  const bool is_blob = reply.kind == '$' || reply.kind == '=';
  if (!is_blob && !IsAggregate(reply.kind)) return reply;
  const std::int64_t count = ReadCount(line).value();
  reply.text = {};
  if (count < 0) {
    reply.kind = '_';
  } else if (is_blob) {
    reply.text = bytes.substr(0, static_cast<std::size_t>(count));
    bytes.remove_prefix(reply.text.size() + kEnd.size());
    if (reply.kind == '=') reply.text.remove_prefix(std::min(kText.size(), reply.text.size()));
  } else {
    const std::int64_t elements = reply.kind == '%' ? 2 * count : count;
    for (std::int64_t i = 0; i < elements; ++i) reply.elements.push_back(TakeValue(bytes));
  }
  return reply;
}

void WriteAsResp2(const Reply& reply, RespWriter& writer) {
  switch (reply.kind) {
    case '+':
      return writer.SimpleString(reply.text);
    case '-':
      return writer.Error(reply.text);
    case ':':
      return writer.Integer(reply.number);
    case '#':
      return writer.Integer(reply.text == "t" ? 1 : 0);
    case '_':
      return writer.Null();
    case '%':
      writer.Array(reply.elements.size() / 2);
      for (std::size_t i = 1; i < reply.elements.size(); i += 2) {
        WriteAsResp2(reply.elements[i], writer);
      }
      return;
    case '*':
    case '~':
    case '>':
      writer.Array(reply.elements.size());
      for (const Reply& element : reply.elements) WriteAsResp2(element, writer);
      return;
    default:
      return writer.Bulk(reply.text);
  }
}

}  // namespace

ReplyScanner::Result ReplyScanner::ScanValue(std::string_view input) {
  const std::string_view rest = input.substr(at_);
  const std::size_t end = rest.find(kEnd);
  if (end == std::string_view::npos) {
    return rest.size() > kReplyLineBytesMax ? Result::kStrange : Result::kNeedMore;
  }
  const std::string_view line = rest.substr(0, end);
  if (line.empty() || line.size() > kReplyLineBytesMax) return Result::kStrange;
  if (std::ranges::any_of(line, IsControl)) return Result::kStrange;  // such as half an end
  std::size_t size = line.size() + kEnd.size();
  std::size_t elements = 0;
  const char kind = line.front();
  if (kind == '$' || kind == '=' || IsAggregate(kind)) {
    const std::optional<std::int64_t> count = ReadCount(line);
    if (!count || (*count < 0 && kind != '$' && kind != '*')) return Result::kStrange;
    if (IsAggregate(kind)) {
      elements = *count < 0 ? 0 : static_cast<std::size_t>(*count) * (kind == '%' ? 2 : 1);
    } else if (*count >= 0) {
      size += static_cast<std::size_t>(*count) + kEnd.size();
      if (at_ + size > kReplyBytesMax) return Result::kStrange;
      if (rest.size() < size) return Result::kNeedMore;
      if (!rest.substr(0, size).ends_with(kEnd)) return Result::kStrange;
    }
  } else if (std::string_view("+-:,#_(").find(kind) == std::string_view::npos ||
             (kind == ':' && !ParseInteger(line.substr(1)))) {
    return Result::kStrange;
  }
  at_ += size;
  if (at_ > kReplyBytesMax || missing_.size() == kReplyDepthMax) return Result::kStrange;
  if (elements > 0) missing_.push_back(elements);
  return Result::kReply;
}

ReplyScanner::Result ReplyScanner::Scan(std::string_view input) {
  do {
    const std::size_t open = missing_.size();
    const Result result = ScanValue(input);
    if (result != Result::kReply) return result;
    if (missing_.size() > open) continue;  // The elements follow.
    while (!missing_.empty() && --missing_.back() == 0) missing_.pop_back();
  } while (!missing_.empty());
  size_ = at_;
  at_ = 0;
  return Result::kReply;
}

Reply ReadReply(std::string_view whole) {
  Reply reply = TakeValue(whole);
  WEIR_CHECK(whole.empty());
  return reply;
}

void AppendAsResp2(std::string_view whole, std::string& out) {
  // Most replies are the same in both: integers, errors, bulk strings, and arrays of these.
  constexpr std::string_view kOnlyInResp3 = "%~>=,#_(";
  const bool is_same = [&] {
    for (std::string_view rest = whole; !rest.empty();) {
      const std::string_view line = LineOf(rest);
      if (kOnlyInResp3.find(line.front()) != std::string_view::npos) return false;
      rest.remove_prefix(line.size() + kEnd.size());
      if (line.front() != '$') continue;
      const std::int64_t size = ReadCount(line).value();
      if (size >= 0) rest.remove_prefix(static_cast<std::size_t>(size) + kEnd.size());
    }
    return true;
  }();
  if (is_same) {
    out += whole;
  } else {
    RespWriter writer(out);
    WriteAsResp2(ReadReply(whole), writer);
  }
}

}  // namespace weir
