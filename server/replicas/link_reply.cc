#include "server/replicas/link_reply.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "core/table/key_hash.h"
#include "protocol/integer.h"
#include "server/config/options.h"

namespace weir {
namespace {

constexpr std::string_view kReferral = "NOMASTERLINK this server is a replica: follow ";

}  // namespace

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
