#include "module/values/hold_sweeper.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "module/api/wall_time.h"
#include "module/values/module.h"
#include "module/values/open_key.h"

namespace weir {
namespace {

constexpr std::size_t kSpareEntries = 1024;

}  // namespace

void HoldSweeper::StartTimer(redis::Context* context, redis::Millis pause) {
  if (has_timer_ || entries_.empty()) return;
  redis::CreateTimer(context, pause, OnTimer, this);
  has_timer_ = true;
}

void HoldSweeper::Schedule(redis::Context* context, int db, std::string_view key, KeyBuckets& value,
                           Instant now) {
  const HoldTable* const holds = value.holds();
  if (!holds) return;
  Instant due = Instant::max();
  for (const HoldSet* const set : {&holds->open(), &holds->marks()}) {
    if (!set->empty()) due = std::min(due, set->First().expiry());
  }
  const bool is_noted = value.sweep_at() > now && value.sweep_at() <= due;
  if (is_noted || due == Instant::max()) return;
  value.set_sweep_at(due);
  Insert({due, db, std::string(key)});
  StartTimer(context, kPauseMillis);
}

void HoldSweeper::Insert(Entry entry) {
  entries_.insert(std::move(entry));
  const HoldCounts& counts = TheModule().hold_records.counts();
  const std::size_t most = 2 * (counts.open() + counts.marks()) + kSpareEntries;
  if (entries_.size() > most) entries_.erase(std::prev(entries_.end()));
}

void HoldSweeper::OnTimer(redis::Context* context, void* sweeper) {
  auto& self = *static_cast<HoldSweeper*>(sweeper);
  self.has_timer_ = false;
  const bool is_replica = (redis::GetContextFlags(context) & redis::kReplica) != 0;
  const bool is_stopped = redis::AvoidReplicaTraffic() != 0;
  const Instant now = WallTime();
  if (!is_stopped) self.SweepDue(context, now, is_replica);
  const bool is_busy = !is_stopped && !self.entries_.empty() && self.entries_.begin()->due <= now;
  self.StartTimer(context, is_busy ? kBusyPauseMillis : kPauseMillis);
}

void HoldSweeper::SweepDue(redis::Context* context, Instant now, bool is_replica) {
  for (int keys = 0; keys < kKeysAtOnce; ++keys) {
    if (entries_.empty() || entries_.begin()->due > now) return;
    Entry entry = std::move(entries_.extract(entries_.begin()).value());
    redis::SelectDb(context, entry.db);
    redis::String* const name = redis::CreateString(context, entry.key.data(), entry.key.size());
    {
      OpenKey key(TheModule(), context, name, is_replica ? redis::kRead : redis::kWrite);
      if (key.sweep_at() == entry.due && is_replica) {
        entry.due = now + kReplicaPause;
        key.set_sweep_at(entry.due);
        Insert(std::move(entry));
      } else if (key.sweep_at() == entry.due) {
        key.Sweep(now);
      }
    }
    redis::FreeString(context, name);
  }
}

}  // namespace weir
