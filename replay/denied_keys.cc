#include "replay/denied_keys.h"

#include <algorithm>
#include <span>
#include <tuple>

namespace weir {

void DeniedKeys::CountDenial(std::string_view key, const KeyHash& hash, Instant at) {
  const auto [found, is_new] = keys_.try_emplace(hash);
  Counts& counts = found->second;
  if (is_new) {
    counts.first = at;
    counts.name_begin = names_.size();
    counts.name_bytes = static_cast<std::uint32_t>(key.size());
    names_ += key;
  }
  ++counts.denials;
  ++counts.streak;
  counts.longest_streak = std::max(counts.longest_streak, counts.streak);
}

std::vector<DeniedKey> DeniedKeys::Worst(std::size_t most) const {
  const auto name = [this](const Counts& counts) {
    return std::string_view(names_).substr(counts.name_begin, counts.name_bytes);
  };
  const auto is_worse = [&name](const Counts* a, const Counts* b) {
    if (a->denials != b->denials) return a->denials > b->denials;
    return std::tuple(a->first, name(*a)) < std::tuple(b->first, name(*b));
  };
  std::vector<const Counts*> all;
  all.reserve(keys_.size());
  for (const auto& [hash, counts] : keys_) all.push_back(&counts);
  const std::size_t count = std::min(most, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                    is_worse);
  std::vector<DeniedKey> worst;
  for (const Counts* counts : std::span(all).first(count)) {
    worst.push_back(
        {std::string(name(*counts)), counts->denials, counts->longest_streak, counts->first});
  }
  return worst;
}

}  // namespace weir
