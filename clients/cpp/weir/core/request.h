// Request: the words of a decision, divided by AND into groups. A group is a key, its limits and
// its cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/words.h"

namespace weir::client {

class Request {
 public:
  // Throws Mistake if a key is missing or empty.
  explicit Request(const Words& words);

  [[nodiscard]] const Words& words() const { return words_; }
  [[nodiscard]] bool has_several_keys() const { return groups_.size() > 1; }
  [[nodiscard]] const std::string& key(std::size_t group) const;

  // Whether a limit has a place for the cost, cost={}.
  [[nodiscard]] bool has_places() const;

  // Whether a shadow limit of the group has the label `name`.
  [[nodiscard]] bool IsShadowLabel(std::size_t group, std::string_view name) const;

  // All words, with the cost in its places.
  [[nodiscard]] Words WithCost(std::int64_t cost) const;

  // The keys, each with those limits alone that have a place for the cost. A key that has no such
  // limit is left out, unless `keys_without`.
  [[nodiscard]] Words Costs(std::int64_t cost, bool keys_without) const;

  // All words, each group with this COST.
  [[nodiscard]] Words Charged(std::int64_t tokens) const;

  // The keys, each with this COST for all of its limits.
  [[nodiscard]] Words Settled(std::int64_t tokens) const;

  // The keys alone.
  [[nodiscard]] Words Keys() const;

 private:
  Words words_;
  std::vector<Words> groups_;  // none is empty
};

}  // namespace weir::client
