#include "core/limiter/hold_records.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "core/base/check.h"
#include "core/limiter/hold_request.h"

namespace weir {
namespace {

// The removal of a hold takes as long as this many visits.
constexpr std::size_t kVisitsPerRemoved = 8;

// Calls visit(HoldRecords::Holds) with the holds of each key.
template <typename Visit>
void ForEachKey(const HoldSet& set, Visit visit) {
  std::vector<Hold*> holds;
  holds.reserve(set.size());
  set.ForEach([&](Hold& hold) { holds.push_back(&hold); });
  for (HoldRecords::Holds left = holds; !left.empty();) {
    const std::uint64_t key = left.front()->key();
    const auto end = std::ranges::find_if(left, [&](Hold* hold) { return hold->key() != key; });
    const auto count = static_cast<std::size_t>(end - left.begin());
    visit(left.first(count));
    left = left.subspan(count);
  }
}

}  // namespace

// --- Adding ---

void HoldRecords::Restore(HoldTable& holds, std::uint64_t key, std::string_view id,
                          SavedHold hold) {
  const HoldTerms terms = {.key = key,
                           .request = hold.request,
                           .granted = hold.granted,
                           .expiry = hold.expiry,
                           .order = hold.order};
  for (HoldPart& part : hold.parts) {
    WEIR_CHECK(NumberOf(part.limit) < registry_.used());
    registry_.AddBucket(part.limit);
    if (!registry_.Get(part.limit).is_held()) continue;
    WEIR_DCHECK(!hold.lapses);
    part.SetHeld();
  }
  counts_.AddBytes(terms.user, holds.Restore(terms, id, hold).bytes());
  if (hold.settled) {
    counts_.AddMark();
  } else {
    counts_.AddRestored();
    if (hold.lapses) counts_.AddSlice(hold.granted);
  }
}

void HoldRecords::Apply(HoldTable& holds, std::uint64_t key, std::string_view id,
                        const std::optional<SavedHold>& record) {
  const std::vector<HoldTable::SumsOfBucket> sums = holds.SumsOfKey(key);
  if (Hold* const open = holds.FindOpen(key, id)) ForgetOpen(holds, *open);
  if (Hold* const mark = holds.FindMark(key, id)) ForgetMark(holds, *mark);
  if (!record) return;
  Restore(holds, key, id, *record);
  holds.LogHold(key, id);
  // Those that only this hold has named may have gone with it.
  for (const auto& [bucket, kept] : sums) {
    if (holds.KeepsSums(bucket)) holds.SetSums(bucket, kept);
  }
}

// --- Removing ---

void HoldRecords::ForgetOpen(HoldTable& holds, Holds open) {
  if (open.empty()) return;
  HoldWork::visits += kVisitsPerRemoved * open.size();
  holds.TakeManyOpen(open.front()->key(), open);
  Discard(open, true);
}

void HoldRecords::ForgetMarks(HoldTable& holds, Holds marks) {
  if (marks.empty()) return;
  HoldWork::visits += kVisitsPerRemoved * marks.size();
  holds.TakeManyMarks(marks.front()->key(), marks);
  counts_.RemoveMark(marks.size());
  Discard(marks, false);
}

void HoldRecords::ForgetOpen(HoldTable& holds, Hold& open) {
  Hold* const one = &open;
  ForgetOpen(holds, Holds(&one, 1));
}

void HoldRecords::ForgetMark(HoldTable& holds, Hold& mark) {
  Hold* const one = &mark;
  ForgetMarks(holds, Holds(&one, 1));
}

void HoldRecords::ForgetAll(HoldTable& holds) {
  ForEachKey(holds.open(), [&](Holds open) { ForgetOpen(holds, open); });
  ForEachKey(holds.marks(), [&](Holds marks) { ForgetMarks(holds, marks); });
}

// Deletes holds that were taken out of their table, and no longer counts them. Neighbors with the
// same limits and the same user, as most have, are counted together.
void HoldRecords::Discard(Holds holds, bool open) {
  struct Run {
    LimitId limit{};
    std::uint32_t parts = 0;
  };
  absl::InlinedVector<Run, 4> runs;
  Introducer user = kNoIntroducer;
  std::size_t count = 0;
  std::size_t bytes = 0;
  const auto count_user = [&] {
    if (count == 0) return;
    if (open) counts_.Remove(user, count);
    counts_.RemoveBytes(user, bytes);
    count = 0;
    bytes = 0;
  };
  for (std::size_t n = 0; n < holds.size(); ++n) {
    constexpr std::size_t kAhead = 8;
    if (n + kAhead < holds.size()) __builtin_prefetch(holds[n + kAhead]);
    Hold* const hold = holds[n];
    if (hold->terms().user != user) count_user();
    user = hold->terms().user;
    ++count;
    bytes += hold->bytes();
    if (open && hold->lapses()) counts_.RemoveSlice(hold->terms().granted);
    const std::span<const HoldPart> parts = hold->parts();
    if (runs.size() < parts.size()) runs.resize(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (runs[i].parts > 0 && runs[i].limit != parts[i].limit) {
        registry_.RemoveBucket(runs[i].limit, std::exchange(runs[i].parts, 0));
      }
      runs[i].limit = parts[i].limit;
      ++runs[i].parts;
    }
    Hold::Delete{}(hold);
  }
  count_user();
  for (const Run& run : runs) {
    if (run.parts > 0) registry_.RemoveBucket(run.limit, run.parts);
  }
}

}  // namespace weir
