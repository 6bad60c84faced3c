// Words that a replica and its primary exchange before the stream of frames begins.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/table/key_hash.h"
#include "server/state/replication.h"

namespace weir {

// Equal on servers that hash keys with the same secret; reveals nothing else about the secret.
[[nodiscard]] inline KeyHasher::Fingerprint FingerprintOfSecret(const KeyHasher& hasher) noexcept {
  return hasher.FingerprintOf("the secret of the keys");
}

// The error of RL.SYNC on a replica, which names the primary to ask instead; and the address in
// such an error, or nothing if it is another one.
[[nodiscard]] std::string ReferralTo(const HostAndPort& primary);
[[nodiscard]] std::optional<HostAndPort> ReadReferral(std::string_view error);

// The words of RL.SYNC, as the handler reads them (server/handlers/replication.cc).
[[nodiscard]] std::vector<std::string> SyncWords(const SyncRequest& request);
// The answer that accepts the replica, from the words of the reply; nothing if they are invalid.
[[nodiscard]] std::optional<SyncAnswer> ReadSyncAnswer(std::span<const std::string> words);

}  // namespace weir
