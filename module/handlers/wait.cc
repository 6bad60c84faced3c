// RL.WAIT: the tokens are reserved at once, and a timer answers when they are there.
//
// Between MULTI and EXEC, in scripts and wherever else a client cannot wait, RL.WAIT answers at
// once, as RL.ALLOW does. If the client disconnects before its time, or CLIENT UNBLOCK ends its
// wait, its tokens are given back, except for buckets that a later request has changed. Giving back
// is a change that replicas must get, and only commands and timers can send it to them. So a second
// timer, which is due immediately, gives back the tokens of all clients that have left by then. It
// begins with the latest reservation, since a reservation can be given back only if no later one is
// behind it.
#include "module/handlers/wait.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"

#include "core/base/check.h"
#include "core/commands/pending_request.h"
#include "core/rules/bucket.h"
#include "core/rules/decision.h"
#include "module/api/wall_time.h"
#include "module/handlers/command_table.h"
#include "module/values/module.h"
#include "module/values/open_key.h"

namespace weir {
namespace {

constexpr redis::Millis kPauseMillis = 100;

using Buckets = absl::InlinedVector<Bucket, 2>;  // one per part of a reservation

struct ModuleWaiter {
  ModuleWaiter(const ParsedRequest& parsed, Reservation reservation, redis::Context* context)
      : request(parsed, std::move(reservation)), db(redis::GetSelectedDb(context)) {
    const auto& part_of_check = request.reservation().part_of_check;
    for (std::size_t i = 0; i < part_of_check.size(); ++i) {
      if (part_of_check[i] == key_of_part.size()) key_of_part.push_back(Add(parsed.checks[i].key));
    }
    WEIR_CHECK(key_of_part.size() == request.reservation().parts.size());
  }

  const PendingRequest request;
  const int db;
  std::vector<std::string> keys;                    // distinct
  absl::InlinedVector<std::size_t, 2> key_of_part;  // indexes into `keys`
  redis::BlockedClient* client = nullptr;
  redis::TimerId timer = 0;

  // Later reservations have greater numbers.
  [[nodiscard]] std::uint64_t number() const { return request.reservation().number; }

 private:
  // Returns the place of the key in `keys`.
  std::size_t Add(std::string_view key) {
    const auto found = std::ranges::find(keys, key);
    const auto place = static_cast<std::size_t>(found - keys.begin());
    if (found == keys.end()) keys.emplace_back(key);
    return place;
  }
};

// The waiters whose clients no longer wait and whose tokens are not given back yet. While there are
// any, a timer is set.
std::vector<ModuleWaiter*>& Detached() {
  static std::vector<ModuleWaiter*> detached;
  return detached;
}

// By Redis's handle of the client.
using Waiters = absl::flat_hash_map<redis::BlockedClient*, ModuleWaiter*>;
Waiters& TheWaiters() {
  static Waiters waiters;
  return waiters;
}

std::optional<LimitId> IdOf(const Limit& limit) {
  LimitHint no_hint;
  return TheModule().registry.Find(limit, no_hint);
}

// A waiter's keys, opened again by their names, with their present buckets.
class WaitedKeys {
 public:
  WaitedKeys(redis::Context* context, const ModuleWaiter& waiter, int mode)
      : context_(context), waiter_(waiter) {
    for (const std::string& name : waiter.keys) {
      names_.push_back(redis::CreateString(context, name.data(), name.size()));
      OpenKey& key = keys_.emplace_back(TheModule(), context, names_.back(), mode);
      if (mode == redis::kRead && !key.is_of_another_type()) key.ExpireHolds(WallTime());
    }
  }
  ~WaitedKeys() {
    keys_.clear();
    for (redis::String* const name : names_) redis::FreeString(context_, name);
  }
  WaitedKeys(const WaitedKeys&) = delete;
  WaitedKeys& operator=(const WaitedKeys&) = delete;

  // Returns the bucket of each part. It is Bucket{}, which is full, if there is none, if it is full
  // by now, or if its policy no longer exists.
  [[nodiscard]] Buckets PartBuckets() const {
    Buckets buckets;
    for (std::size_t i = 0; i < parts().size(); ++i) {
      const OpenKey& key = keys_[waiter_.key_of_part[i]];
      const auto [id, bucket] = Find(key, parts()[i].limit);
      const bool is_live = bucket && key.TimeToFull({*id, *bucket}, WallTime()) > Nanos{0};
      buckets.push_back(is_live ? *bucket : Bucket{});
    }
    return buckets;
  }

  // Returns the tokens. Requires: opened to write.
  void ReturnTokens() {
    for (std::size_t i = 0; i < parts().size(); ++i) {
      OpenKey& key = keys_[waiter_.key_of_part[i]];
      const auto [id, bucket] = Find(key, parts()[i].limit);
      if (!bucket) continue;
      const Bucket given_back = parts()[i].GivenBack(*bucket);
      if (given_back != *bucket) key.Keep(*id, given_back);
    }
    for (OpenKey& key : keys_) key.Commit(WallTime());
  }

 private:
  struct Found {
    std::optional<LimitId> id;
    const Bucket* bucket;  // null: none
  };
  static Found Find(const OpenKey& key, const Limit& limit) {
    const std::optional<LimitId> id = key.is_of_another_type() ? std::nullopt : IdOf(limit);
    return {id, id ? key.Find(*id) : nullptr};
  }
  [[nodiscard]] std::span<const Reservation::Part> parts() const {
    return waiter_.request.reservation().parts;
  }

  redis::Context* const context_;
  const ModuleWaiter& waiter_;
  absl::InlinedVector<redis::String*, 2> names_;
  absl::InlinedVector<OpenKey, 2> keys_;  // of waiter_.keys
};

void AnswerWaiter(Call& call, const ModuleWaiter& waiter, std::span<const Bucket> buckets,
                  bool allowed) {
  const Verdict verdict = ReservationVerdict(waiter.request.reservation(), buckets, allowed,
                                             WallTime(), TheModule().options.max_wait);
  waiter.request.Count(verdict, TheModule().request_counters);
  waiter.request.Answer(call.reply, verdict);
}

// Called by the timer when the tokens are there. Redis answers the client through OnUnblocked.
void OnReady(redis::Context* /*context*/, void* data) {
  auto* const waiter = static_cast<ModuleWaiter*>(data);
  TheWaiters().erase(waiter->client);
  redis::UnblockClient(waiter->client, waiter);
}

int OnUnblocked(redis::Context* context, redis::String** words, int count) noexcept {
  const auto& waiter =
      *static_cast<const ModuleWaiter*>(redis::GetBlockedClientPrivateData(context));
  Call call(WaitRow(), context, {words, static_cast<std::size_t>(count)});
  const Buckets buckets = WaitedKeys(context, waiter, redis::kRead).PartBuckets();
  AnswerWaiter(call, waiter, buckets, true);
  return redis::kOk;
}

// Gives back the tokens of clients that have gone or were answered. Called by a timer, so that
// replicas get the change.
void ReturnTokensOfDetached(redis::Context* context, void* /*data*/) {
  if (redis::AvoidReplicaTraffic() != 0) {  // a failover is under way
    redis::CreateTimer(context, kPauseMillis, ReturnTokensOfDetached, nullptr);
    return;
  }
  std::vector<ModuleWaiter*> waiters = std::exchange(Detached(), {});
  std::ranges::sort(waiters, std::ranges::greater(), &ModuleWaiter::number);
  for (ModuleWaiter* const waiter : waiters) {
    redis::SelectDb(context, waiter->db);
    // A primary that has become a replica only unblocks its waiters: the new primary has their
    // charges.
    if ((redis::GetContextFlags(context) & redis::kReplica) == 0) {
      WaitedKeys(context, *waiter, redis::kWrite).ReturnTokens();
    }
    redis::UnblockClient(waiter->client, waiter);
  }
}

// Removes the waiter of a client that no longer waits, and has its tokens given back. Returns null
// if there was none.
ModuleWaiter* Detach(redis::Context* context, redis::BlockedClient* client) {
  const auto found = TheWaiters().find(client);
  if (found == TheWaiters().end()) return nullptr;
  ModuleWaiter* const waiter = found->second;
  TheWaiters().erase(found);
  redis::StopTimer(context, waiter->timer, nullptr);
  if (Detached().empty()) redis::CreateTimer(context, 0, ReturnTokensOfDetached, nullptr);
  Detached().push_back(waiter);
  return waiter;
}

void OnDisconnect(redis::Context* context, redis::BlockedClient* client) noexcept {
  Detach(context, client);
}

// CLIENT UNBLOCK: answers with a denial, for the buckets as they will be after ReturnTokens.
int OnUnblockCommand(redis::Context* context, redis::String** words, int count) noexcept {
  Call call(WaitRow(), context, {words, static_cast<std::size_t>(count)});
  const ModuleWaiter* const waiter = Detach(context, redis::GetBlockedClientHandle(context));
  if (waiter == nullptr) {
    call.reply.Error("ERR the wait was over already");
    return redis::kOk;
  }
  Buckets buckets = WaitedKeys(context, *waiter, redis::kRead).PartBuckets();
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    buckets[i] = waiter->request.reservation().parts[i].GivenBack(buckets[i]);
  }
  AnswerWaiter(call, *waiter, buckets, false);
  return redis::kOk;
}

void Free(redis::Context* /*context*/, void* data) noexcept {
  delete static_cast<ModuleWaiter*>(data);
}

}  // namespace

void WaitFor(Call& call, const ParsedRequest& request, Reservation reservation) {
  static std::uint64_t reservations = 0;
  reservation.number = ++reservations;
  // A timer starts from the last whole microsecond.
  const Nanos span = reservation.ready - std::chrono::floor<std::chrono::microseconds>(WallTime());
  auto waiter = std::make_unique<ModuleWaiter>(request, std::move(reservation), call.context);
  waiter->client = redis::BlockClient(call.context, OnUnblocked, OnUnblockCommand, Free, 0);
  WEIR_CHECK(waiter->client != nullptr);
  redis::SetDisconnectCallback(waiter->client, OnDisconnect);
  waiter->timer = redis::CreateTimer(call.context, std::max<std::int64_t>(CeilMillis(span), 0),
                                     OnReady, waiter.get());
  TheWaiters().emplace(waiter->client, waiter.get());
  static_cast<void>(waiter.release());  // Redis calls Free when the client is unblocked.
}

}  // namespace weir
