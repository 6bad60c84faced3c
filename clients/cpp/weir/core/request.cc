#include "weir/core/request.h"

#include <algorithm>
#include <cctype>

#include "weir/errors.h"

namespace weir::client {
namespace {

constexpr std::string_view kCostPlace = "cost={}";

bool HasPlace(const std::string& limit) { return limit.find(kCostPlace) != std::string::npos; }

std::string Put(std::string limit, std::int64_t cost) {
  const std::string text = "cost=" + std::to_string(cost);
  for (std::size_t at = 0; (at = limit.find(kCostPlace, at)) != std::string::npos;) {
    limit.replace(at, kCostPlace.size(), text);
    at += text.size();
  }
  return limit;
}

bool IsAnd(const std::string& word) {
  return std::ranges::equal(word, std::string_view("AND"), {},
                            [](unsigned char c) { return std::toupper(c); });
}

// A group begins with its key, which may be "AND", too.
std::vector<Words> SplitAtAnd(const Words& words) {
  std::vector<Words> groups(1);
  for (const std::string& word : words) {
    if (!groups.back().empty() && IsAnd(word)) {
      groups.emplace_back();
    } else {
      groups.back().push_back(word);
    }
  }
  return groups;
}

Words JoinByAnd(const std::vector<Words>& groups) {
  Words joined;
  for (const Words& group : groups) {
    if (!joined.empty()) joined.emplace_back("AND");
    joined.insert(joined.end(), group.begin(), group.end());
  }
  return joined;
}

}  // namespace

Request::Request(const Words& words) : words_(words), groups_(SplitAtAnd(words)) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    if (groups_[i].empty()) throw Mistake("group " + number + " of the request has no key");
    if (groups_[i][0].empty()) {
      throw Mistake("the key of group " + number + " is empty: one bucket for all callers");
    }
  }
}

const std::string& Request::key(std::size_t group) const {
  return groups_[group < groups_.size() ? group : 0][0];
}

bool Request::has_places() const { return std::ranges::any_of(words_, HasPlace); }

bool Request::IsShadowLabel(std::size_t group, std::string_view name) const {
  if (group >= groups_.size()) return false;
  return std::any_of(groups_[group].begin() + 1, groups_[group].end(), [&](const auto& limit) {
    const std::string options = limit + ",";
    return options.find(",shadow,") != std::string::npos &&
           options.find(",name=" + std::string(name) + ",") != std::string::npos;
  });
}

Words Request::WithCost(std::int64_t cost) const {
  std::vector<Words> groups = groups_;
  for (Words& group : groups) {
    std::transform(group.begin() + 1, group.end(), group.begin() + 1,
                   [&](const std::string& limit) { return Put(limit, cost); });
  }
  return JoinByAnd(groups);
}

Words Request::Costs(std::int64_t cost, bool keys_without) const {
  std::vector<Words> groups;
  for (const Words& group : groups_) {
    Words with = {group[0]};
    for (std::size_t i = 1; i < group.size(); ++i) {
      if (HasPlace(group[i])) with.push_back(Put(group[i], cost));
    }
    if (keys_without || with.size() > 1) groups.push_back(with);
  }
  return JoinByAnd(groups);
}

Words Request::Charged(std::int64_t tokens) const {
  std::vector<Words> groups = groups_;
  for (Words& group : groups) group.insert(group.end(), {"COST", std::to_string(tokens)});
  return JoinByAnd(groups);
}

Words Request::Settled(std::int64_t tokens) const {
  std::vector<Words> groups;
  for (const Words& group : groups_) groups.push_back({group[0], "COST", std::to_string(tokens)});
  return JoinByAnd(groups);
}

Words Request::Keys() const {
  std::vector<Words> groups;
  for (const Words& group : groups_) groups.push_back({group[0]});
  return JoinByAnd(groups);
}

}  // namespace weir::client
