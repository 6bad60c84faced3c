// Examples of the commands: what one types, and what redis-cli then shows. Part of
// command_table.cc.
//
// docs/commands.md prints them, and command_examples_test.cc runs them.
#pragma once

#include <array>

#include "core/commands/command_spec.h"

namespace weir::examples {

inline constexpr std::array kExec = {
    Example{"MULTI", "OK"},
    Example{"RL.ALLOW user:42 10/s", "QUEUED"},
    Example{"RL.ALLOW user:43 10/s", "QUEUED"},
    Example{"EXEC",
            "1) 1) (integer) 1\n   2) (integer) 9\n   3) (integer) 0\n   4) (integer) 100\n"
            "   5) (integer) 0\n"
            "2) 1) (integer) 1\n   2) (integer) 9\n   3) (integer) 0\n   4) (integer) 100\n"
            "   5) (integer) 0"},
};
inline constexpr std::array kTtl = {
    Example{"RL.ALLOW user:42 1000/h",
            "1) (integer) 1\n2) (integer) 999\n3) (integer) 0\n4) (integer) 3600\n5) (integer) 0"},
    Example{"TTL user:42", "(integer) 4"},
    Example{"PTTL user:42", "(integer) 3600"},
    Example{"TTL user:43", "(integer) -2"},
};
inline constexpr std::array kConfigSet = {
    Example{"CONFIG SET max-clients 200 timeout 300", "OK"},
    Example{"CONFIG GET max-clients timeout",
            "1) \"max-clients\"\n2) \"200\"\n3) \"timeout\"\n4) \"300\""}};
inline constexpr std::array kPing = {Example{"PING", "PONG"}, Example{"PING hello", "\"hello\""}};
inline constexpr std::array kGetKeys = {
    Example{"COMMAND GETKEYS RL.ALLOW ip:1.2.3.4 100/s AND user:42 10/s",
            "1) \"ip:1.2.3.4\"\n2) \"user:42\""}};
inline constexpr std::array kMemoryUsage = {
    Example{"MEMORY USAGE user:42", "(nil)"},
    Example{"RL.ALLOW user:42 10/s 100/h",
            "1) (integer) 1\n2) (integer) 9\n3) (integer) 0\n4) (integer) 36000\n5) (integer) 0"},
    Example{"MEMORY USAGE user:42", "(integer) 50"},
};

}  // namespace weir::examples
