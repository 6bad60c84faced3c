#include "module/handlers/trim.h"

#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/limiter/policy_trim.h"
#include "core/policies/overrides.h"
#include "module/api/wall_time.h"
#include "module/values/module.h"
#include "module/values/open_key.h"

namespace weir {
namespace {

// One timer ends after it has visited so many keys, or has found so many to cut. It takes about a
// millisecond.
constexpr std::size_t kVisitsAtOnce = 1024;
constexpr std::size_t kCutKeysAtOnce = 128;
constexpr redis::Millis kTrafficPauseMillis = 100;

struct TrimJob {
  TrimJob(std::shared_ptr<const Policy> policy_before, std::shared_ptr<const Policy> policy_after)
      : before(std::move(policy_before)), after(std::move(policy_after)) {}
  ~TrimJob() { redis::ScanCursorDestroy(cursor); }
  TrimJob(const TrimJob&) = delete;
  TrimJob& operator=(const TrimJob&) = delete;

  // The functions that Redis calls: when the work is done, on CLIENT UNBLOCK, which does not end
  // the work, and to delete the job.
  static int OnUnblocked(redis::Context* context, redis::String** words, int count) noexcept;
  static int OnUnblockCommand(redis::Context* context, redis::String** words, int count) noexcept;
  static void Free(redis::Context* /*context*/, void* job) noexcept {
    delete static_cast<TrimJob*>(job);
  }

  const std::shared_ptr<const Policy> before;
  std::shared_ptr<const Policy> after;
  redis::ScanCursor* const cursor = redis::ScanCursorCreate();
  int db = 0;
  std::size_t visits = 0;          // of the present timer
  std::vector<std::string> found;  // keys that may have buckets of the policy, not cut yet
  std::size_t trimmed = 0;         // buckets
  bool is_done = false;
  bool is_outdated = false;  // the policy has other limits now, or is deleted
  redis::BlockedClient* client = nullptr;
};

void VisitForTrim(redis::Context* /*context*/, redis::String* name, redis::Key* key, void* data) {
  auto& job = *static_cast<TrimJob*>(data);
  ++job.visits;
  const auto add = [&] {
    std::size_t bytes = 0;
    const char* const text = redis::StringPtrLen(name, &bytes);
    job.found.emplace_back(text, bytes);
  };
  if (key == nullptr) return add();  // not open: TrimFound opens it
  if (redis::ModuleTypeGetType(key) != TheModule().type) return;
  for (const KeyBuckets::KeyBucket& one :
       *static_cast<const KeyBuckets*>(redis::ModuleTypeGetValue(key))) {
    if (TheModule().registry.Get(one.limit).owner().policy == job.after->id) return add();
  }
}

// Cuts the buckets of the keys that were found.
void TrimFound(redis::Context* context, TrimJob& job) {
  for (const std::string& key : std::exchange(job.found, {})) {
    redis::String* const name = redis::CreateString(context, key.data(), key.size());
    const std::shared_ptr<const PolicyLimits> own = job.after->overrides->Find(key);
    const Trimmer trimmer(TheModule().options.max_wait, own ? *own : job.before->limits,
                          own ? *own : job.after->limits);
    job.trimmed += OpenKey(TheModule(), context, name, redis::kWrite)
                       .Trim(trimmer, TheModule().explicit_time.View(WallTime()));
    redis::FreeString(context, name);
  }
}

// Returns true when the keys of all databases are done.
bool TrimSome(redis::Context* context, TrimJob& job) {
  job.visits = 0;
  while (redis::SelectDb(context, job.db) == redis::kOk) {
    while (redis::Scan(context, job.cursor, VisitForTrim, &job) != 0) {
      ++job.visits;
      if (job.visits < kVisitsAtOnce && job.found.size() < kCutKeysAtOnce) continue;
      TrimFound(context, job);
      return false;
    }
    TrimFound(context, job);
    redis::ScanCursorRestart(job.cursor);
    ++job.db;
  }
  return true;
}

void TrimOnTimer(redis::Context* context, void* data) {
  auto* const job = static_cast<TrimJob*>(data);
  if (redis::AvoidReplicaTraffic() != 0) {  // a failover is under way
    redis::CreateTimer(context, kTrafficPauseMillis, TrimOnTimer, job);
    return;
  }
  const bool is_replica = (redis::GetContextFlags(context) & redis::kReplica) != 0;
  const std::shared_ptr<const Policy> present = FindUnchanged(TheModule().policies, *job->after);
  job->is_outdated = !is_replica && !present;
  const bool stops = is_replica || job->is_outdated;
  if (present) job->after = present;  // an override may have raised its greatest numbers
  if (!stops && !TrimSome(context, *job)) {
    redis::CreateTimer(context, 0, TrimOnTimer, job);
    return;
  }
  job->is_done = !stops;
  if (job->is_done) {
    LogTrimmed(context, job->after->name, job->trimmed);
  } else if (job->is_outdated) {
    redis::Log(context, "warning",
               "weir: policy '%s': stopped after %zu buckets were cut: it has other limits now, or "
               "is deleted",
               job->after->name.c_str(), job->trimmed);
  }
  redis::UnblockClient(job->client, job);
}

int TrimJob::OnUnblocked(redis::Context* context, redis::String** /*words*/,
                         int /*count*/) noexcept {
  const auto& job = *static_cast<const TrimJob*>(redis::GetBlockedClientPrivateData(context));
  RedisReply reply(context);
  if (job.is_done) {
    reply.SimpleString("OK");
  } else if (job.is_outdated) {
    reply.Error(std::string(kOutdatedTrim));
  } else {
    reply.Error("UNBLOCKED this server is a replica now");
  }
  return redis::kOk;
}

int TrimJob::OnUnblockCommand(redis::Context* context, redis::String** /*words*/,
                              int /*count*/) noexcept {
  RedisReply(context).Error("ERR not all buckets are cut yet: the log will tell");
  return redis::kOk;
}

}  // namespace

void LogTrimmed(redis::Context* context, std::string_view policy, std::size_t buckets) {
  redis::Log(context, "notice", "weir: policy '%s': cut what %zu buckets owe",
             std::string(policy).c_str(), buckets);
}

void TrimPolicy(Call& call, std::shared_ptr<const Policy> before,
                std::shared_ptr<const Policy> after) {
  auto job = std::make_unique<TrimJob>(std::move(before), std::move(after));
  job->client = redis::BlockClient(call.context, TrimJob::OnUnblocked, TrimJob::OnUnblockCommand,
                                   TrimJob::Free, 0);
  WEIR_CHECK(job->client != nullptr);
  // Redis calls Free when the client is unblocked.
  redis::CreateTimer(call.context, 0, TrimOnTimer, job.release());
}

}  // namespace weir
