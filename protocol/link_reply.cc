#include "protocol/link_reply.h"

#include <charconv>
#include <cstdint>

#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "protocol/integer.h"

namespace weir {
namespace {

constexpr std::size_t kElementsMax = 16;

LinkReply Strange(std::size_t bytes) {
  return {.error = "ERR unexpected reply", .words = {}, .bytes = bytes};
}

// Reads one element, which is no array, and adds it to the reply. Returns false if it is not
// complete.
bool ReadElement(std::string_view input, LinkReply& reply) {
  const std::string_view rest = input.substr(reply.bytes);
  const std::size_t end = rest.find("\r\n");
  if (end == std::string_view::npos) return false;
  const std::string_view line = rest.substr(1, end - 1);
  reply.bytes += end + 2;
  switch (rest.front()) {
    case '+':
    case ':':
      reply.words.emplace_back(line);
      return true;
    case '-':
      reply.error = line.empty() ? "ERR" : std::string(line);
      return true;
    case '$': {
      const std::optional<std::int64_t> size = ParseInteger(line);
      if (!size || *size < 0 || *size > static_cast<std::int64_t>(kLinkReplyBytesMax)) break;
      const auto bytes = static_cast<std::size_t>(*size);
      if (input.size() < reply.bytes + bytes + 2) return false;
      reply.words.emplace_back(input.substr(reply.bytes, bytes));
      reply.bytes += bytes + 2;
      return true;
    }
    default:
      break;
  }
  reply = Strange(input.size());
  return true;
}

}  // namespace

std::optional<LinkReply> ReadLinkReply(std::string_view input) {
  if (input.empty()) return std::nullopt;
  LinkReply reply;
  std::size_t elements = 1;
  if (input.front() == '*') {
    const std::size_t end = input.find("\r\n");
    if (end == std::string_view::npos) {
      return input.size() > kLinkReplyBytesMax ? std::optional(Strange(input.size()))
                                               : std::nullopt;
    }
    const std::optional<std::int64_t> count = ParseInteger(input.substr(1, end - 1));
    if (!count || *count < 0 || *count > static_cast<std::int64_t>(kElementsMax)) {
      return Strange(input.size());
    }
    elements = static_cast<std::size_t>(*count);
    reply.bytes = end + 2;
  }
  for (std::size_t i = 0; i < elements && reply.error.empty(); ++i) {
    if (reply.bytes < input.size() && ReadElement(input, reply)) continue;
    if (input.size() > kLinkReplyBytesMax) return Strange(input.size());
    return std::nullopt;
  }
  return reply;
}

void AppendRequest(std::span<const std::string_view> words, std::string& out) {
  constexpr std::size_t kAroundWord = 32;  // at most
  std::size_t bytes = kAroundWord;
  for (const std::string_view word : words) bytes += kAroundWord + word.size();
  out.reserve(out.size() + bytes);
  absl::StrAppend(&out, "*", words.size(), "\r\n");
  for (const std::string_view word : words) {
    absl::StrAppend(&out, "$", word.size(), "\r\n", AbslView(word), "\r\n");
  }
}

}  // namespace weir
