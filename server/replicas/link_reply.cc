#include "server/replicas/link_reply.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/table/key_hash.h"
#include "protocol/integer.h"
#include "server/config/options.h"

namespace weir {
namespace {

constexpr std::size_t kElementsMax = 16;
constexpr std::string_view kReferral = "NOMASTERLINK this server is a replica: follow ";

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

Secret LinkRequest(std::span<const std::string_view> words) {
  constexpr std::size_t kAroundWord = 32;  // at most
  std::size_t bytes = kAroundWord;
  for (const std::string_view word : words) bytes += kAroundWord + word.size();
  std::string request;
  request.reserve(bytes);  // A buffer that grew would leave its bytes behind.
  absl::StrAppend(&request, "*", words.size(), "\r\n");
  for (const std::string_view word : words) {
    absl::StrAppend(&request, "$", word.size(), "\r\n", AbslView(word), "\r\n");
  }
  WEIR_CHECK(request.size() <= bytes);
  Secret whole = request;
  Wipe(request);
  return whole;
}

std::string ReferralTo(const HostAndPort& primary) {
  return absl::StrCat(AbslView(kReferral), primary.host, ":", primary.port);
}

std::optional<HostAndPort> ReadReferral(std::string_view error) {
  if (!error.starts_with(kReferral)) return std::nullopt;
  const std::string_view address = error.substr(kReferral.size());
  const std::size_t colon = std::min(address.rfind(':'), address.size());
  const std::optional<std::string> host = ParseHost(address.substr(0, colon));
  const std::optional<std::int64_t> port =
      ParseInteger(address.substr(std::min(colon + 1, address.size())));
  if (!host || !port || *port < 1 || *port > UINT16_MAX) return std::nullopt;
  return HostAndPort{*host, static_cast<std::uint16_t>(*port)};
}

std::vector<std::string> SyncWords(const SyncRequest& request) {
  const std::string_view fingerprint(reinterpret_cast<const char*>(request.key_fingerprint.data()),
                                     request.key_fingerprint.size());
  std::vector<std::string> words = {"RL.SYNC",
                                    std::to_string(request.oldest_version),
                                    std::to_string(request.newest_version),
                                    "ID",
                                    request.run_id,
                                    "ADDR",
                                    request.ip.empty() ? "-" : request.ip,
                                    std::to_string(request.port),
                                    "TERM",
                                    std::to_string(request.term),
                                    "KEY",
                                    absl::BytesToHexString(AbslView(fingerprint))};
  if (request.from) {
    words.insert(words.end(), {"FROM", request.from->replid, std::to_string(request.from->offset)});
  }
  if (request.was_told) words.emplace_back("TOLD");
  return words;
}

std::optional<SyncAnswer> ReadSyncAnswer(std::span<const std::string> words) {
  constexpr std::size_t kWords = 8;
  SyncAnswer answer;
  const bool is_read =
      words.size() == kWords && absl::SimpleAtoi(words[0], &answer.version) &&
      absl::SimpleAtoi(words[1], &answer.term) && absl::SimpleAtoi(words[3], &answer.common) &&
      absl::SimpleAtoi(words[4], &answer.head) && absl::SimpleAtoi(words[5], &answer.generation) &&
      (words[6].empty() || words[6].size() == sizeof(HashSecret)) &&
      (words[7] == kSyncResume || words[7] == kSyncFresh);
  if (!is_read) return std::nullopt;
  answer.replid = words[2];
  answer.secret = words[6];
  answer.resume = words[7] == kSyncResume;
  return answer;
}

}  // namespace weir
