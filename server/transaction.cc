#include "server/transaction.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/command.h"

namespace weir {

absl::Status Transaction::Queue(const CommandSpec& spec, std::span<const std::string_view> words) {
  const bool is_short = spec.Is(kFast) && !spec.Is(kWholeTable);
  const std::size_t units = units_ + (is_short ? 1 : std::max(kWholeTableWork, words.size()));
  std::size_t bytes = bytes_;
  for (const std::string_view word : words) bytes += sizeof(std::string) + word.size();
  if (units > kUnitsMax || bytes > kBytesMax) {
    Abort();
    return absl::ResourceExhaustedError(absl::StrCat(
        "transaction is too large: at most ", kUnitsMax, " commands (slow ones count as ",
        kWholeTableWork, ") and ", kBytesMax, " bytes"));
  }
  units_ = units;
  bytes_ = bytes;
  queued_.push_back({&spec, {words.begin(), words.end()}});
  return absl::OkStatus();
}

absl::Status Transaction::Watch(Limiter::Watched watched) {
  const bool again = std::ranges::any_of(
      watched_, [&](const Limiter::Watched& one) { return one.key == watched.key; });
  if (again) return absl::OkStatus();
  const std::size_t size = watched_size_ + 1 + watched.buckets.size();
  if (size > kWatchedMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("too much is watched: at most ", kWatchedMax, " keys and buckets of theirs"));
  }
  watched_size_ = size;
  watched_.push_back(std::move(watched));
  return absl::OkStatus();
}

void Transaction::Unwatch() {
  watched_.clear();
  watched_size_ = 0;
}

}  // namespace weir
