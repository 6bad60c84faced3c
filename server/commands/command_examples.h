// Examples of commands: a request, and its reply in the short form of the docs. Part of
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
    Example{"EXEC", "[1 9 0 100 0]\n[1 9 0 100 0]"},
};
inline constexpr std::array kTtl = {
    Example{"RL.ALLOW user:42 1000/h", "1 999 0 3600 0"},
    Example{"TTL user:42", "4"},
    Example{"PTTL user:42", "3600"},
    Example{"TTL user:43", "-2"},
};
inline constexpr std::array kConfigSet = {
    Example{"CONFIG SET max-clients 200 timeout 300", "OK"},
    Example{"CONFIG GET max-clients timeout", R"("max-clients" "200" "timeout" "300")"}};
inline constexpr std::array kPing = {Example{"PING", "PONG"}, Example{"PING hello", "\"hello\""}};
inline constexpr std::array kPublish = {Example{"PUBLISH news hello", "0"}};
inline constexpr std::array kNumSub = {
    Example{"PUBSUB NUMSUB news weather", R"("news" 0 "weather" 0)"}};
inline constexpr std::array kRole = {Example{"ROLE", "\"master\" 0\n[]"}};
inline constexpr std::array kWaitForReplicas = {Example{"WAIT 0 100", "0"}};
inline constexpr std::array kGetKeys = {Example{
    "COMMAND GETKEYS RL.ALLOW ip:1.2.3.4 100/s AND user:42 10/s", R"("ip:1.2.3.4" "user:42")"}};
inline constexpr std::array kMemoryUsage = {
    Example{"MEMORY USAGE user:42", "nil"},
    Example{"RL.ALLOW user:42 10/s 100/h", "1 9 0 36000 0"},
    Example{"MEMORY USAGE user:42", "50"},
};

}  // namespace weir::examples
