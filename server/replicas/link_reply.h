// Replies in the Redis protocol, as a primary gives them before the stream of frames begins.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/table/key_hash.h"
#include "server/os/wipe.h"
#include "server/state/replication.h"

namespace weir {

inline constexpr std::size_t kLinkReplyBytesMax = 4096;

// A reply: one text, or the elements of an array.
struct LinkReply {
  std::string error;  // without "-"; empty: the reply is no error
  std::vector<std::string> words;
  std::size_t bytes = 0;  // at the front of the input
};

// The reply at the front of the input; nothing if it is not complete. A reply that no primary gives
// is an error, too. Understands +, -, :, $ and arrays of these.
[[nodiscard]] std::optional<LinkReply> ReadLinkReply(std::string_view input);

// Equal on servers that hash keys with the same secret; reveals nothing else about the secret.
[[nodiscard]] inline KeyHasher::Fingerprint FingerprintOfSecret(const KeyHasher& hasher) noexcept {
  return hasher.FingerprintOf("the secret of the keys");
}

// The words of a request as an array of RESP. One of them may be a password.
[[nodiscard]] Secret LinkRequest(std::span<const std::string_view> words);

// The error of RL.SYNC on a replica, which names the primary to ask instead; and the address in
// such an error, or nothing if it is another one.
[[nodiscard]] std::string ReferralTo(const HostAndPort& primary);
[[nodiscard]] std::optional<HostAndPort> ReadReferral(std::string_view error);

// The words of RL.SYNC, as the handler reads them (server/handlers/replication.cc).
[[nodiscard]] std::vector<std::string> SyncWords(const SyncRequest& request);
// The answer that accepts the replica, from the words of the reply; nothing if they are invalid.
[[nodiscard]] std::optional<SyncAnswer> ReadSyncAnswer(std::span<const std::string> words);

}  // namespace weir
