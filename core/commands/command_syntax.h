// The arguments of a command, read from the syntax string of its row, for COMMAND DOCS and help.
//
//     key limit [limit ...] [COST cost] [AND (key limit [limit ...]) ...]
//     client-id [how=(TIMEOUT|ERROR)]
//
//     arguments = argument *(" " argument)
//     argument  = value | value " [" value " ...]"    once; the same value once or more
//               | "[" value "]" | "[" value " ...]"   once or not at all; any number of times
//     value     = KEYWORD | [KEYWORD " "] (name | group)
//     group     = [name "="] "(" arguments ")"                 all of them, in this order
//               | [name "="] "(" argument 1*("|" argument) ")" one of them
//
// Keywords are in upper case, names in lower case. A group without a name is named after the
// keyword before it. A name has one type in all commands: `key` is a key, `cost` an integer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/commands/command_spec.h"

namespace weir {

// One argument, as COMMAND DOCS describes it.
struct Argument {
  enum class Type { kKey, kString, kInteger, kUnixTime, kPattern, kToken, kOneOf, kBlock };

  std::string name;
  Type type = Type::kString;
  std::string token;  // the keyword before it; a kToken has no other part
  bool optional = false;
  bool multiple = false;
  std::vector<Argument> parts;  // of kOneOf and kBlock
};

// Requires: a string of the grammar above, else the process ends. Cost: a few microseconds.
[[nodiscard]] std::vector<Argument> ArgumentsOf(const CommandSpec& spec);

// The line that users read, without the parentheses and names of groups:
// "RL.ALLOW key limit [limit ...] [COST cost] [AND key limit [limit ...] ...]"
[[nodiscard]] std::string CommandSyntax(const CommandSpec& spec);

}  // namespace weir
