#include "server/commands/command_category.h"

#include <array>
#include <cstddef>

#include "core/base/ignore_case.h"

namespace weir {
namespace {

struct Category {
  std::string_view name;
  bool (*has)(const CommandSpec& spec);
};

constexpr std::array kCategories = {
    Category{"read", [](const CommandSpec& spec) { return spec.Is(kReadOnly); }},
    Category{"write", [](const CommandSpec& spec) { return spec.Is(kWrite); }},
    Category{"admin", [](const CommandSpec& spec) { return spec.Is(kAdmin); }},
    Category{"dangerous", [](const CommandSpec& spec) { return spec.Is(kAdmin); }},
    Category{"limit", [](const CommandSpec& spec) { return spec.Is(kApplication); }},
    Category{"keyspace", [](const CommandSpec& spec) { return spec.group == "keys"; }},
    Category{"connection", [](const CommandSpec& spec) { return spec.group == "connection"; }},
    Category{"pubsub", [](const CommandSpec& spec) { return spec.group == "pubsub"; }},
    Category{"transaction", [](const CommandSpec& spec) { return spec.group == "transaction"; }},
    Category{"fast", [](const CommandSpec& spec) { return spec.Is(kFast); }},
    Category{"slow", [](const CommandSpec& spec) { return !spec.Is(kFast); }},
};

}  // namespace

std::optional<CommandCategories> FindCategory(std::string_view name) {
  if (EqualsIgnoreCase(name, "all")) return kEveryCategory;
  for (std::size_t i = 0; i < kCategories.size(); ++i) {
    if (EqualsIgnoreCase(name, kCategories[i].name)) return 1U << i;
  }
  return std::nullopt;
}

CommandCategories CategoriesOf(const CommandSpec& spec) {
  CommandCategories categories = 0;
  for (std::size_t i = 0; i < kCategories.size(); ++i) {
    if (kCategories[i].has(spec)) categories |= 1U << i;
  }
  return categories;
}

std::vector<std::string_view> CategoryNames(CommandCategories categories) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kCategories.size(); ++i) {
    if ((categories >> i & 1) != 0) names.push_back(kCategories[i].name);
  }
  return names;
}

}  // namespace weir
