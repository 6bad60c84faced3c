#include "module/handlers/command_info.h"

#include <array>
#include <cstddef>
#include <deque>
#include <vector>

#include "core/commands/command_syntax.h"

namespace weir {
namespace {

// Holds a description until Redis has copied it. A row's texts are literals, so they end in NUL.
class Description {
 public:
  explicit Description(const CommandSpec& row) : arguments_(ArgumentsOf(row)) {
    info_.version = &redis::kInfoVersion;
    info_.summary = Text(row.summary);
    info_.complexity = Text(row.complexity);
    info_.since = Text(row.since);
    info_.arity = static_cast<int>(row.arity.redis());
    info_.arguments = List(arguments_, row.keys.first != 0);
    if (row.Is(kAndKeys) || !row.Is(kReadOnly) || row.keys.first == 0) return;
    // Otherwise Redis assumes that the command changes its keys.
    key_specs_[0] = {.flags = redis::kReadsKey,
                     .begin = 2,
                     .position = row.keys.first,
                     .find = 2,
                     .last = row.keys.last - row.keys.first,
                     .step = row.keys.step};
    info_.key_specs = key_specs_.data();
  }

  [[nodiscard]] const redis::CommandInfo& info() const noexcept { return info_; }

 private:
  static const char* Text(std::string_view text) { return text.empty() ? nullptr : text.data(); }

  // The arguments, followed by an empty one; null if there are none.
  redis::CommandArgument* List(std::span<const Argument> arguments, bool has_keys) {
    if (arguments.empty()) return nullptr;
    std::vector<redis::CommandArgument>& list = lists_.emplace_back(arguments.size() + 1);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Argument& argument = arguments[i];
      redis::CommandArgument& told = list[i];
      told.name = Text(argument.name);
      told.type = TypeOf(argument, has_keys);
      told.key_spec = told.type == redis::ArgumentType::kKey ? 0 : -1;
      told.token = Text(argument.token);
      told.flags = (argument.optional ? redis::kOptionalArgument : 0) |
                   (argument.multiple ? redis::kMultipleArgument : 0);
      told.parts = List(argument.parts, has_keys);
    }
    return list.data();
  }

  // If the command has no positions of keys, a key is an ordinary word.
  static redis::ArgumentType TypeOf(const Argument& argument, bool has_keys) {
    switch (argument.type) {
      case Argument::Type::kKey:
        return has_keys ? redis::ArgumentType::kKey : redis::ArgumentType::kString;
      case Argument::Type::kString:
        return redis::ArgumentType::kString;
      case Argument::Type::kInteger:
        return redis::ArgumentType::kInteger;
      case Argument::Type::kUnixTime:
        return redis::ArgumentType::kUnixTime;
      case Argument::Type::kPattern:
        return redis::ArgumentType::kPattern;
      case Argument::Type::kToken:
        return redis::ArgumentType::kToken;
      case Argument::Type::kOneOf:
        return redis::ArgumentType::kOneOf;
      case Argument::Type::kBlock:
        return redis::ArgumentType::kBlock;
    }
    return redis::ArgumentType::kString;
  }

  const std::vector<Argument> arguments_;
  redis::CommandInfo info_;
  std::array<redis::KeySpec, 2> key_specs_;  // the second ends the list
  std::deque<std::vector<redis::CommandArgument>> lists_;
};

}  // namespace

bool Describe(redis::Context* context, const std::string& name, const CommandSpec& row) {
  redis::CommandHandle* const command = redis::GetCommand(context, name.c_str());
  const Description description(row);
  if (command == nullptr || redis::SetCommandInfo(command, &description.info()) != redis::kOk) {
    redis::Log(context, "warning", "weir: the server refused the documentation of %s",
               name.c_str());
    return false;
  }
  if (redis::SetCommandACLCategories == nullptr) return true;
  const std::string categories = std::string(row.Is(kWrite) ? "write" : "read") +
                                 (row.Is(kFast) ? " fast" : " slow") +
                                 (row.Is(kAdmin) ? " admin" : "");
  return redis::SetCommandACLCategories(command, categories.c_str()) == redis::kOk;
}

}  // namespace weir
