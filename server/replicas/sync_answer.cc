// RL.SYNC: servers that ask to follow this one.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include <asio/post.hpp>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/limiter/change_reader.h"
#include "core/limiter/limiter_upkeep.h"
#include "server/replicas/link_reply.h"
#include "server/replicas/replication_control.h"

namespace weir {
namespace {

constexpr std::string_view kTermUnsavedError =
    "LOADING weir saves its new term before a replica joins it";
constexpr std::string_view kNoPrimaryError = "NOMASTERLINK this server is no primary";

// An error that lasts until an operator changes one of the two servers.
SyncAnswer Refusal(std::string error) {
  return {.error = std::move(error), .needs_operator = true};
}

}  // namespace

void ReplicationControl::AnswerSync(SyncRequest request, SyncAnswered answered) {
  if (request.oldest_version > kStreamVersionMax || request.newest_version < kStreamVersionMin) {
    return answered(Refusal(absl::StrCat("ERR weir speaks replication ", kStreamVersionMin, " to ",
                                         kStreamVersionMax, ", you ", request.oldest_version,
                                         " to ", request.newest_version)));
  }
  if (request.run_id == services_.run_id) {
    return answered(Refusal("ERR this server cannot follow itself"));
  }
  AskedSync asked = {std::move(request), std::move(answered)};
  asio::post(control_, [this, asked = std::move(asked)] {
    thread_.AssertHeld();
    AskRole(asked);
  });
}

void ReplicationControl::AskRole(const AskedSync& asked) {
  if (keeps_role_) return asked.answered({.error = std::string(kNoPrimaryError)});
  const SyncRequest& request = asked.request;
  const std::uint64_t ticket = ++tickets_;
  asked_syncs_.emplace(ticket, asked);
  const HostAndPort address = {request.ip, request.port};
  Take(SyncAsked{
      .ticket = RoleTicket{ticket},
      .run_id = request.run_id,
      .is_at_primary = address == role_machine_.view()->record.primary,
      .term = request.term,
      .id = request.from ? request.from->replid : std::string(),
      .offset = request.from ? request.from->offset : 0,
      .has_our_secret = request.key_fingerprint == FingerprintOfSecret(services_.limiter.hasher()),
      .connected_at = request.connected_at,
      .was_told = request.was_told,
      .head = head(),
      .has_state = HasState()});
}

// The policies of the file do not count: a server that has lost its disk has them, too.
bool ReplicationControl::HasState() const {
  const LimiterUpkeep& upkeep = services_.upkeep;
  if (had_buckets() || upkeep.size().buckets > 0 || upkeep.counts().open_holds > 0) return true;
  const auto is_of_client = [](const std::shared_ptr<const Policy>& policy) {
    return !policy->from_file;
  };
  return services_.policies.size().overrides > 0 ||
         std::ranges::any_of(services_.policies.All(), is_of_client);
}

void ReplicationControl::Do(const weir::AnswerSync& action) {
  using What = weir::AnswerSync::What;
  const auto found = asked_syncs_.find(static_cast<std::uint64_t>(action.ticket));
  WEIR_CHECK(found != asked_syncs_.end());
  const AskedSync asked = std::move(found->second);
  asked_syncs_.erase(found);
  const RoleView& view = *role_machine_.view();
  const std::string terms = absl::StrCat(view.record.term, ", and yours ", asked.request.term);
  weir::SyncAnswer answer;
  switch (action.what) {
    case What::kAccepted:
      answer = Accept(asked.request, action.common);
      break;
    case What::kLoading:
      answer.error = view.state == RoleState::kGated ? kGatedError : kTermUnsavedError;
      break;
    case What::kReferral:
      answer.error = ReferralTo(action.primary);
      break;
    case What::kLaterTerm:
      answer = Refusal(absl::StrCat("ERR this server's term is ", terms,
                                    ", of another history: it may have lost its state"));
      break;
    case What::kOtherGroup:
      answer = Refusal(absl::StrCat(
          AbslView(kOtherGroupCode),
          " this server is of another group: it hashes keys with another secret, its term is ",
          terms, "; REPLICAOF follows it"));
      break;
    case What::kNoPrimary:
      answer.error = kNoPrimaryError;
      break;
  }
  asked.answered(std::move(answer));
}

SyncAnswer ReplicationControl::Accept(const SyncRequest& request,
                                      std::optional<std::uint64_t> common) {
  SyncAnswer answer;
  answer.version = std::min(request.newest_version, kStreamVersionMax);
  {
    const ChangeReader reader(services_.limiter.table());
    const ChangesLock changes_lock(reader);
    answer.generation = NumberOf(reader.generation());
  }
  const KeyHasher& hasher = services_.limiter.hasher();
  const bool has_our_secret = request.key_fingerprint == FingerprintOfSecret(hasher);
  if (!has_our_secret) answer.secret.assign(hasher.secret().begin(), hasher.secret().end());
  const History& record = role_machine_.view()->record;
  answer.term = record.term;
  answer.replid = record.id;
  answer.resume = common.has_value();
  answer.common = common.value_or(0);
  const MutexLock lock(mutex_);
  if (!replicator_->has_room()) {
    return Refusal(absl::StrCat("ERR this server has ", kReplicasMax, " replicas already"));
  }
  answer.head = replicator_->head();
  return answer;
}

void ReplicationControl::Adopt(Transport transport, SyncHandOver sync) {
  const MutexLock lock(mutex_);
  const bool is_same = view_->record.id == sync.answer.replid;
  if (replicator_ && is_same && view_->state == RoleState::kServing) {
    replicator_->Adopt(std::move(transport), std::move(sync));
  } else {
    transport.Close();
  }
}

}  // namespace weir
