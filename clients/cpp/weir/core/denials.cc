#include "weir/core/denials.h"

#include <algorithm>
#include <cstddef>

namespace weir::client {
namespace {

constexpr milliseconds kKeptMax = std::chrono::seconds(1);
constexpr std::size_t kDenialsMax = 10'000;

void CountDown(std::optional<milliseconds>& time, Clock::duration age) {
  if (time) time = std::max(milliseconds(0), std::chrono::ceil<milliseconds>(*time - age));
}

}  // namespace

std::string Denials::NameOf(const Words& words, bool with_rows) {
  std::string name(1, with_rows ? '+' : '-');
  for (const std::string& word : words) name += std::to_string(word.size()) + ":" + word;
  return name;
}

std::optional<Decision> Denials::Find(const std::string& name, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(name);
  if (found == kept_.end()) return {};
  if (now >= found->second.end) {
    kept_.erase(found);
    return {};
  }
  Decision decision = found->second.decision;
  CountDown(decision.retry_after, now - found->second.asked);
  CountDown(decision.reset_after, now - found->second.asked);
  return decision;
}

void Denials::Keep(const std::string& name, Clock::time_point now, const Decision& decision) {
  const milliseconds time = std::min(decision.retry_after.value_or(kKeptMax), kKeptMax);
  const std::lock_guard lock(mutex_);
  if (kept_.size() >= kDenialsMax) kept_.clear();
  kept_.insert_or_assign(name, Kept{now + time, now, decision});
}

}  // namespace weir::client
