// Examples of the commands that limit: what one types, and what redis-cli then shows. Part of
// limit_commands.h.
//
// docs/commands.md prints them, and tests run them against the server and against the module.
#pragma once

#include <array>

#include "core/commands/command_spec.h"

namespace weir::examples {

inline constexpr std::array kAllow = {
    Example{"RL.ALLOW user:42 10/s 1000/h",
            "1) (integer) 1\n2) (integer) 9\n3) (integer) 0\n4) (integer) 3600\n5) (integer) 0"},
    Example{"RL.ALLOW user:42 10/s COST 10",
            "1) (integer) 0\n2) (integer) 9\n3) (integer) 100\n4) (integer) 100\n5) (integer) 0"},
    Example{"RL.ALLOW user:42 10/s,cost=11",
            "1) (integer) 0\n2) (integer) 9\n3) (integer) -1\n4) (integer) 100\n5) (integer) 0"},
    Example{
        "RL.ALLOW ip:1.2.3.4 100/s AND user:42 10/s 1000/h COST 3 AND tenant:7 1M/d,name=daily "
        "WITHLIMITS",
        "1) (integer) 1\n2) (integer) 6\n3) (integer) 0\n4) (integer) 14400\n5) (integer) 1\n"
        "6) 1) 1) \"100/s\"\n      2) (integer) 1\n      3) (integer) 100\n      4) (integer) 99\n"
        "      5) (integer) 0\n      6) (integer) 10\n"
        "   2) 1) \"10/s\"\n      2) (integer) 1\n      3) (integer) 10\n      4) (integer) 6\n"
        "      5) (integer) 0\n      6) (integer) 400\n"
        "   3) 1) \"1000/h\"\n      2) (integer) 1\n      3) (integer) 1000\n      4) (integer) "
        "996\n"
        "      5) (integer) 0\n      6) (integer) 14400\n"
        "   4) 1) \"daily\"\n      2) (integer) 1\n      3) (integer) 1000000\n      4) (integer) "
        "999999\n"
        "      5) (integer) 0\n      6) (integer) 87"},
    Example{"RL.ALLOW user:42 10/x",
            "(error) ERR invalid limit '10/x': unknown unit 'x' (us, ms, s, m, h, d, w)"},
};
inline constexpr std::array kPeek = {
    Example{"RL.PEEK user:42 10/s COST 10",
            "1) (integer) 1\n2) (integer) 0\n3) (integer) 0\n4) (integer) 1000\n5) (integer) 0"},
    Example{"EXISTS user:42", "(integer) 0"},
};
inline constexpr std::array kInspect = {
    Example{"RL.ALLOW user:42 10/s 1000/h",
            "1) (integer) 1\n2) (integer) 9\n3) (integer) 0\n4) (integer) 3600\n5) (integer) 0"},
    Example{"RL.INSPECT user:42",
            "1) 1) \"10/s\"\n   2) (integer) 9\n   3) (integer) 100\n"
            "2) 1) \"1000/h\"\n   2) (integer) 999\n   3) (integer) 3600"},
};
inline constexpr std::array kReset = {
    Example{"RL.ALLOW user:42 10/s 1000/h",
            "1) (integer) 1\n2) (integer) 9\n3) (integer) 0\n4) (integer) 3600\n5) (integer) 0"},
    Example{"RL.RESET user:42 10/s", "(integer) 1"},
    Example{"RL.RESET user:42", "(integer) 1"},
    Example{"RL.RESET user:42", "(integer) 0"},
};
inline constexpr std::array kTake = {
    Example{"RL.TAKE replica:3 100/s UPTO 30",
            "1) (integer) 30\n2) (integer) 70\n3) (integer) 0\n4) (integer) 300\n5) (integer) 0"},
    Example{"RL.TAKE replica:3 100/s UPTO 500",
            "1) (integer) 70\n2) (integer) 0\n3) (integer) 0\n4) (integer) 1000\n5) (integer) 0"},
    Example{"RL.TAKE replica:3 100/s UPTO 30",
            "1) (integer) 0\n2) (integer) 0\n3) (integer) 10\n4) (integer) 1000\n5) (integer) 0"},
};
inline constexpr std::array kRefund = {
    Example{"RL.ALLOW job 10/m COST 10",
            "1) (integer) 1\n2) (integer) 0\n3) (integer) 0\n4) (integer) 60000\n5) (integer) 0"},
    Example{"RL.REFUND job 10/m COST 4",
            "1) (integer) 1\n2) (integer) 4\n3) (integer) 0\n4) (integer) 36000\n5) (integer) 0"},
};
inline constexpr std::array kWait = {
    Example{"RL.WAIT mail 2/s TIMEOUT 1000",
            "1) (integer) 1\n2) (integer) 1\n3) (integer) 0\n4) (integer) 500\n5) (integer) 0"},
    Example{"RL.ALLOW mail 2/s",
            "1) (integer) 1\n2) (integer) 0\n3) (integer) 0\n4) (integer) 1000\n5) (integer) 0"},
    Example{"RL.WAIT mail 2/s TIMEOUT 100",
            "1) (integer) 0\n2) (integer) 0\n3) (integer) 500\n4) (integer) 1000\n5) (integer) 0"},
};
inline constexpr std::array kPolicySet = {
    Example{"RL.POLICY SET free 2/s 1000/h", "OK"},
    Example{"RL.ALLOW user:42 @free",
            "1) (integer) 1\n2) (integer) 1\n3) (integer) 0\n4) (integer) 3600\n5) (integer) 0"},
    Example{"RL.POLICY SET free 2/s @other",
            "(error) ERR invalid limit '@other': a policy cannot hold another"},
    Example{"RL.ALLOW user:42 @gold", "(error) ERR unknown policy 'gold': RL.POLICY SET makes one"},
};
inline constexpr std::array kPolicyOverride = {
    Example{"RL.POLICY SET free 2/s", "OK"},
    Example{"RL.POLICY OVERRIDE free user:1 100/s", "OK"},
    Example{"RL.POLICY OVERRIDE free user:2 none", "OK"},
    Example{"RL.ALLOW user:1 @free",
            "1) (integer) 1\n2) (integer) 99\n3) (integer) 0\n4) (integer) 10\n5) (integer) 0"},
    Example{"RL.ALLOW user:2 @free",
            "1) (integer) 0\n2) (integer) 0\n3) (integer) -1\n4) (integer) 0\n5) (integer) 0"},
    Example{"RL.POLICY OVERRIDES free",
            "1) 1) \"user:1\"\n   2) \"100/s\"\n2) 1) \"user:2\"\n   2) \"none\""},
};
inline constexpr std::array kPolicyUnoverride = {
    Example{"RL.POLICY SET free 2/s", "OK"},
    Example{"RL.POLICY OVERRIDE free user:1 100/s", "OK"},
    Example{"RL.POLICY UNOVERRIDE free user:1", "(integer) 1"},
    Example{"RL.ALLOW user:1 @free",
            "1) (integer) 1\n2) (integer) 1\n3) (integer) 0\n4) (integer) 500\n5) (integer) 0"},
};
inline constexpr std::array kStats = {
    Example{"RL.ALLOW user:42 1/s",
            "1) (integer) 1\n2) (integer) 0\n3) (integer) 0\n4) (integer) 1000\n5) (integer) 0"},
    Example{"RL.ALLOW user:42 1/s",
            "1) (integer) 0\n2) (integer) 0\n3) (integer) 1000\n4) (integer) 1000\n5) (integer) 0"},
    Example{"RL.STATS",
            "1) 1) \"(total)\"\n   2) (integer) 1\n   3) (integer) 1\n   4) (integer) 0\n   5) "
            "(integer) 1\n"
            "2) 1) \"1/s\"\n   2) (integer) 1\n   3) (integer) 1\n   4) (integer) 0\n   5) "
            "(integer) 1"},
};
inline constexpr std::array kThrottle = {
    Example{"CL.THROTTLE user:42 4 1 60",
            "1) (integer) 0\n2) (integer) 5\n3) (integer) 4\n4) (integer) -1\n5) (integer) 60"},
    Example{"CL.THROTTLE user:42 4 1 60 5",
            "1) (integer) 1\n2) (integer) 5\n3) (integer) 4\n4) (integer) 60\n5) (integer) 60"},
    Example{"CL.THROTTLE user:42 4 1 60 6",
            "1) (integer) 1\n2) (integer) 5\n3) (integer) 4\n4) (integer) -1\n5) (integer) 60"},
};
inline constexpr std::array kTop = {
    Example{"RL.ALLOW user:42 none",
            "1) (integer) 0\n2) (integer) 0\n3) (integer) -1\n4) (integer) 0\n5) (integer) 0"},
    Example{"RL.TOP", "1) 1) \"user:42\"\n   2) (integer) 1\n   3) (integer) 0"},
};
inline constexpr std::array kRlThrottle = {
    Example{"RL.THROTTLE user:42 4 1 60",
            "1) (integer) 0\n2) (integer) 5\n3) (integer) 4\n4) (integer) -1\n5) (integer) 60"},
    Example{"CL.THROTTLE user:42 4 1 60 0",
            "1) (integer) 0\n2) (integer) 5\n3) (integer) 4\n4) (integer) -1\n5) (integer) 60"},
};

}  // namespace weir::examples
