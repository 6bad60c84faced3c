// The connections of replication: the answers to servers that ask to follow this one (RL.SYNC), and
// the ends that CLIENT KILL asks for.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include <asio/post.hpp>

#include "core/base/id_type.h"
#include "replication/lineage.h"
#include "server/replicas/link_reply.h"
#include "server/replicas/replication_control.h"

namespace weir {
namespace {

constexpr std::string_view kTermUnsavedError =
    "LOADING weir saves its new term before a replica joins it";

}  // namespace

SyncAnswer ReplicationControl::AnswerSync(const SyncRequest& request) {
  const auto refuse = [](std::string error) { return SyncAnswer{.error = std::move(error)}; };
  if (request.oldest_version > kStreamVersionMax || request.newest_version < kStreamVersionMin) {
    return refuse(absl::StrCat("ERR weir speaks replication ", kStreamVersionMin, " to ",
                               kStreamVersionMax, ", you ", request.oldest_version, " to ",
                               request.newest_version));
  }
  if (request.run_id == services_.run_id) return refuse("ERR this server cannot follow itself");
  // Before a history begins, whose term might be the replica's by chance.
  if (std::string error = SyncRefusal(request); !error.empty()) return refuse(std::move(error));
  if (role() == ServerRole::kGated) return refuse(std::string(kGatedError));
  const std::shared_ptr<Replicator> replicator = BeginHistory();
  if (!replicator) return refuse("NOMASTERLINK this server is no primary");
  if (!IsBeginningSaved()) {
    return refuse(std::string(kTermUnsavedError));
  }
  if (!replicator->has_room()) {
    return refuse(absl::StrCat("ERR this server has ", kReplicasMax, " replicas already"));
  }
  SyncAnswer answer;
  answer.version = std::min(request.newest_version, kStreamVersionMax);
  answer.head = replicator->head();
  {
    const Limiter::Taking taking(services_.limiter);
    answer.generation = NumberOf(services_.limiter.generation());
  }
  const KeyHasher& hasher = services_.limiter.hasher();
  const bool has_our_secret = request.key_fingerprint == FingerprintOfSecret(hasher);
  if (!has_our_secret) answer.secret.assign(hasher.secret().begin(), hasher.secret().end());
  MutexLock lock(mutex_);
  history_.offset = answer.head;
  answer.term = history_.term;
  answer.replid = history_.id;
  std::optional<std::uint64_t> common;
  if (request.from && has_our_secret) {
    common = history_.Common(request.from->replid, request.from->offset);
  }
  answer.resume = common.has_value();
  answer.common = common.value_or(0);
  return answer;
}

// The sender of the history; null if this server is no primary. The first replica begins it.
std::shared_ptr<Replicator> ReplicationControl::BeginHistory() {
  MutexLock beginning(begin_mutex_);
  if (role() != ServerRole::kPrimary) return nullptr;
  {
    MutexLock lock(mutex_);
    if (replicator_) return replicator_;
  }
  NoteForReplicas(true);
  std::shared_ptr<Replicator> replicator = MakeReplicator(Ring(RingBytes(), history().offset));
  MutexLock lock(mutex_);
  BeginTerm(history_.offset);
  replicator_ = replicator;
  SaveSoon();
  return replicator;
}

// Whether the heir shows that it has not taken over: it, or a server at its address that was no
// other replica, asks to follow this one, and is in no later history.
bool ReplicationControl::Declines(const SyncRequest& request) const {
  if (!heir_ || request.term > history_.term) return false;
  const bool is_sibling = std::ranges::count(heir_->siblings, request.run_id) > 0;
  const bool is_there = heir_->address == HostAndPort{request.ip, request.port} && !is_sibling;
  const bool is_of_ours = !request.from || request.from->replid == history_.id;
  return is_of_ours && (heir_->run_id == request.run_id || is_there);
}

// The error of an RL.SYNC that shows where its sender stands: in a later term than this server, or
// it missed our YIELD. Empty: go on.
std::string ReplicationControl::SyncRefusal(const SyncRequest& request) {
  const bool has_our_secret =
      request.key_fingerprint == FingerprintOfSecret(services_.limiter.hasher());
  const bool has_buckets = services_.limiter.size().buckets > 0;
  MutexLock lock(mutex_);
  if (is_replica()) {
    if (Declines(request)) {
      heir_->declined = true;
      asio::post(control_, [this] { TakeBack(); });
    }
    if (has_our_secret) history_.seen_term = std::max(history_.seen_term, request.term);
    // BecomePrimary waits for the disk.
    if (history_.primary.host.empty()) return std::string(kTermUnsavedError);
    return ReferralTo(history_.primary);
  }
  if (!history_.LosesTo(request.term, request.from ? request.from->replid : "")) return {};
  // Servers that have met have the same secret, unless this one has lost its state since.
  const bool has_state = history_.term > 0 || !history_.id.empty() || has_buckets;
  if (!has_our_secret && has_state) {
    return absl::StrCat(
        "ERR this server is of another group: it hashes keys with another secret, its term is ",
        history_.term, " and yours ", request.term, "; REPLICAOF follows it");
  }
  Depose(request.term);
  return absl::StrCat("ERR this server's term is ", history_.term, ", and yours ", request.term,
                      ", of another history: it may have lost its state");
}

std::size_t ReplicationControl::CloseReplicas() {
  MutexLock lock(mutex_);
  return replicator_ ? replicator_->Disconnect() : 0;
}

std::size_t ReplicationControl::CloseLink() {
  MutexLock lock(mutex_);
  const LinkState state = link_ ? link_->status().state : LinkState::kConnect;
  const bool is_there = state == LinkState::kSync || state == LinkState::kConnected;
  if (is_there) link_->Reconnect();
  return is_there ? 1 : 0;
}

void ReplicationControl::Adopt(Transport transport, SyncHandOver sync) {
  MutexLock lock(mutex_);
  if (replicator_ && history_.id == sync.answer.replid) {
    replicator_->Adopt(std::move(transport), std::move(sync));
  } else {
    transport.Close();
  }
}

}  // namespace weir
