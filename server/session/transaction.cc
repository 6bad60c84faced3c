#include "server/session/transaction.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/heap_bytes.h"
#include "core/commands/command_keys.h"
#include "core/policies/policies.h"
#include "core/policies/policy.h"
#include "server/session/call.h"

namespace weir {
namespace {

// The memory of a word besides its bytes: its end in word_ends, and EXEC's view of it.
constexpr std::size_t kBytesPerWord = 32;
// A word may be a limit, and one is decided in a quarter of a microsecond.
constexpr std::size_t kLimitsPerUnit = 4;

}  // namespace

void Transaction::Abort() {
  if (!open_) return;
  aborted_ = true;
  queued_ = Queued();
}

std::size_t Transaction::LeastUnitsOf(const CommandSpec& spec, std::size_t words) noexcept {
  return spec.Is(kFast) && !spec.Is(kWholeTable) ? 1 : std::max(kWholeTableWork, words);
}

std::size_t Transaction::UnitsOf(const CommandSpec& spec, std::span<const std::string_view> words,
                                 const Policies& policies) {
  const std::size_t least = LeastUnitsOf(spec, words.size());
  if (least > 1) return std::max(spec.work, least);
  std::size_t limits = words.size();
  for (const std::string_view word : words) {
    if (!word.starts_with('@')) continue;
    const std::shared_ptr<const Policy> policy =
        policies.Find(word.substr(1, word.find(',') - 1));  // behind ',' is "keep=n"
    if (policy) limits += std::max(policy->limits.size(), policy->greatest.size());
  }
  std::size_t units = limits / kLimitsPerUnit;
  if (spec.work > 0) {
    units = std::max(units, spec.work * std::max(KeysIn(spec, words).size(), std::size_t{1}));
  }
  return std::max(units, least);
}

absl::Status Transaction::Queue(const CommandSpec& spec, std::span<const std::string_view> words,
                                std::size_t units) {
  WEIR_DCHECK(open_);
  units += units_;
  std::size_t bytes = bytes_;
  for (const std::string_view word : words) bytes += kBytesPerWord + word.size();
  if (units > kUnitsMax || bytes > kBytesMax) {
    Abort();
    return absl::ResourceExhaustedError(
        absl::StrCat("transaction is too large: at most ", kUnitsMax,
                     " commands (four limits count as one, each settlement as ", kSettleWork,
                     ", each slow command as ", kWholeTableWork, ", each list as ", kListWork,
                     ") and ", kBytesMax, " bytes"));
  }
  units_ = units;
  bytes_ = bytes;
  if (aborted_) return absl::OkStatus();
  auto& [specs, text, word_ends, command_ends] = queued_;
  specs.push_back(&spec);
  for (const std::string_view word : words) {
    text.insert(text.end(), word.begin(), word.end());
    word_ends.push_back(static_cast<std::uint32_t>(text.size()));
  }
  command_ends.push_back(static_cast<std::uint32_t>(word_ends.size()));
  return absl::OkStatus();
}

std::vector<Transaction::Words> Transaction::WordsOfAll() const {
  std::vector<Words> all;
  all.reserve(queued_.specs.size());
  const std::string_view text(queued_.text.data(), queued_.text.size());
  std::size_t word = 0;
  std::size_t begin = 0;
  for (const std::uint32_t command_end : queued_.command_ends) {
    Words& words = all.emplace_back();
    words.reserve(command_end - word);
    for (; word < command_end; ++word) {
      const std::uint32_t end = queued_.word_ends[word];
      words.push_back(text.substr(begin, end - begin));
      begin = end;
    }
  }
  WEIR_DCHECK(begin == text.size());
  return all;
}

absl::Status Transaction::Watch(WatchedKey watched) {
  const bool again =
      std::ranges::any_of(watched_, [&](const WatchedKey& one) { return one.key == watched.key; });
  if (again) return absl::OkStatus();
  const std::size_t size = watched_size_ + 1 + watched.buckets.size();
  const std::size_t visits = watched_visits_ + watched.visits;
  if (size > kWatchedMax || visits > kWatchedVisitsMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("too many watched keys: at most ", kWatchedMax, " keys and buckets of them"));
  }
  watched_size_ = size;
  watched_visits_ = visits;
  watched_.push_back(std::move(watched));
  return absl::OkStatus();
}

void Transaction::Unwatch() {
  watched_ = std::vector<WatchedKey>();  // {} would keep the memory
  watched_size_ = 0;
  watched_visits_ = 0;
}

std::size_t Transaction::held_bytes() const noexcept {
  const std::size_t watched_buckets = watched_size_ - watched_.size();
  return HeapBytes(queued_.specs) + HeapBytes(queued_.text) + HeapBytes(queued_.word_ends) +
         HeapBytes(queued_.command_ends) + HeapBytes(watched_) +
         watched_buckets * sizeof(WatchedKey::WatchedBucket);
}

}  // namespace weir
