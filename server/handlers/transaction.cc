// MULTI, EXEC, DISCARD, WATCH, UNWATCH: several requests that run as one.
#include "server/session/transaction.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/commands/command_keys.h"
#include "core/limiter/isolation.h"
#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
#include "server/commands/handlers.h"
#include "server/session/call.h"

namespace weir {
namespace {

// Bytes of the replies of one EXEC; the errors that replace further replies are not counted. The
// replies of all decisions that a queue has room for (Transaction::kBytesMax) are shorter, even
// WITHLIMITS.
constexpr std::size_t kRepliesBytesMax = 4 * 1024 * 1024;
constexpr std::string_view kTooLong =
    "ERR executed, but the replies of this EXEC are too long to include this one";

// The keys of the queued commands.
std::vector<std::string_view> KeysOf(const Transaction& transaction,
                                     const std::vector<Transaction::Words>& requests) {
  std::vector<std::string_view> keys;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto named = KeysIn(*transaction.queued()[i], requests[i]);
    keys.insert(keys.end(), named.begin(), named.end());
  }
  return keys;
}

// Settles the due holds of all keys before the transaction, because others wait while it runs.
absl::Status ExpireAhead(Limiter& limiter, const Transaction& transaction,
                         std::span<const std::string_view> keys, Instant now) {
  if (!limiter.has_open_holds()) return absl::OkStatus();
  std::vector<KeyHash> hashes;
  for (const std::string_view key : keys) hashes.push_back(limiter.Hash(key));
  for (const WatchedKey& one : transaction.watched()) hashes.push_back(one.key);
  return LimiterUpkeep(limiter.table()).ExpireAhead(hashes, now);
}

// Locks these keys and the watched keys against other requests.
Isolation Isolate(Limiter& limiter, const Transaction& transaction,
                  std::vector<std::string_view> keys) {
  const bool about_all = std::ranges::any_of(
      transaction.queued(), [](const CommandSpec* spec) { return spec->Is(kWholeTable); });
  if (about_all) return Isolation(limiter.table());
  // A change of a policy locks all keys, so a lock on any one key keeps it out.
  if (keys.empty()) keys.emplace_back();
  return {limiter.table(), keys, transaction.watched()};
}

// Runs the commands, and writes their replies.
void RunAll(Call& call, const Transaction& transaction,
            const std::vector<Transaction::Words>& requests) {
  const std::size_t begin = call.reply.size();
  call.reply.Array(requests.size());
  call.session.work().RestartStopwatch();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::size_t before = call.reply.size();
    call.session.RunQueued(*transaction.queued()[i], requests[i], call.now, call.reply);
    const std::size_t end = call.reply.size();
    if (end - begin <= kRepliesBytesMax || end - before <= kTooLong.size()) continue;
    // The command has taken effect: a transaction does not stop halfway.
    call.reply.TakeBack(before);
    call.session.worker().Fail(call.reply, kTooLong);
  }
}

}  // namespace

void Multi(Call& call) {
  Transaction& transaction = call.client().transaction();
  if (transaction.is_open()) return call.Fail("MULTI calls can not be nested");
  transaction.Open();
  call.reply.SimpleString("OK");
}

void Discard(Call& call) {
  if (!call.client().transaction().is_open()) return call.Fail("DISCARD without MULTI");
  call.client().transaction() = Transaction();
  call.reply.SimpleString("OK");
}

void Watch(Call& call) {
  Transaction& transaction = call.client().transaction();
  if (transaction.is_open()) return call.Fail("WATCH inside MULTI is not allowed");
  call.Charge(call.arguments().size());
  if (!call.MayLookAt(call.arguments())) return;
  for (const std::string_view key : call.arguments()) {
    const absl::Status watched =
        transaction.Watch(Watch(call.services().limiter.table(), key, call.now));
    if (!watched.ok()) return call.Fail(watched);
  }
  call.reply.SimpleString("OK");
}

void Unwatch(Call& call) {
  call.client().transaction().Unwatch();
  call.reply.SimpleString("OK");
}

// The transaction ends before its commands run, so that they are executed and not queued again.
void Exec(Call& call) {
  if (!call.client().transaction().is_open()) return call.Fail("EXEC without MULTI");
  const Transaction transaction = std::exchange(call.client().transaction(), Transaction());
  if (transaction.is_aborted()) {
    return call.ReplyError("EXECABORT Transaction discarded because of previous errors.");
  }
  call.Charge(transaction.units() + transaction.watched_size());
  const std::vector<Transaction::Words> requests = transaction.WordsOfAll();
  Limiter& limiter = call.services().limiter;
  call.services().upkeep.MakeRoomForLimits();
  std::vector<std::string_view> keys = KeysOf(transaction, requests);
  const Instant view = call.services().explicit_time.View(call.now);
  const absl::Status ahead = ExpireAhead(limiter, transaction, keys, view);
  if (!ahead.ok()) return call.Fail(ahead);
  call.session.work().ChargeVisits();
  {
    const Isolation isolation = Isolate(limiter, transaction, std::move(keys));
    const bool unchanged = std::ranges::all_of(
        transaction.watched(),
        [&](const WatchedKey& watched) { return IsUnchanged(limiter.table(), watched, view); });
    if (!unchanged) return call.reply.NullArray();
    RunAll(call, transaction, requests);
  }
  call.session.worker().EndKilled();
  call.Charge(call.session.worker().PublishEvents());
}

}  // namespace weir
