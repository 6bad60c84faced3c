// Examples of the commands of both hosts: the words to type, and the reply in the docs' short form.
// Part of limit_commands.h.
//
// docs/commands.md prints them, and tests run them against the server and against the module.
#pragma once

#include <array>

#include "core/commands/command_spec.h"

namespace weir::examples {

inline constexpr std::array kAllow = {
    Example{"RL.ALLOW user:42 10/s 1000/h", "1 9 0 3600 0"},
    Example{"RL.ALLOW user:42 10/s COST 10", "0 9 100 100 0"},
    Example{"RL.ALLOW user:42 10/s,cost=11", "0 9 -1 100 0"},
    Example{"RL.ALLOW ip:1.2.3.4 100/s AND user:42 10/s 1000/h COST 3 AND tenant:7 1M/d,name=daily "
            "WITHLIMITS",
            "1 6 0 14400 1\n"
            "[[\"100/s\" 1 100 99 0 10 0 1 0]\n"
            " [\"10/s\" 1 10 6 0 400 1 3 0]\n"
            " [\"1000/h\" 1 1000 996 0 14400 1 3 0]\n"
            " [\"daily\" 1 1000000 999999 0 87 2 1 0]]"},
    Example{"RL.ALLOW api 10/s,keep=5 COST 5", "1 5 0 500 0"},
    Example{"RL.ALLOW api 10/s,keep=5", "0 5 100 500 0"},
    Example{"RL.ALLOW api 10/s,keep=2", "1 4 0 600 0"},
    Example{"RL.ALLOW plan:7 1/d OR credits:7 100/w", "1 0 0 86400000 0"},
    Example{"RL.ALLOW plan:7 1/d OR credits:7 100/w", "1 99 0 6048000 1"},
    Example{"RL.ALLOW plan:7 1/d OR credits:7 100/w COST 200 WITHLIMITS",
            "0 0 86400000 86400000 0\n"
            "[[\"1/d\" 0 1 0 86400000 86400000 0 1 0 0]\n"
            " [\"100/w\" 0 100 99 -1 6048000 1 200 0 1]]"},
    Example{"RL.ALLOW team:7 1M/month,tz=America/New_York,from=15 COST 0", "1 1000000 0 0 0"},
    Example{"RL.ALLOW team:7 1M/month,tz=New_York",
            "ERR invalid limit '1M/month,tz=New_York': unknown time zone 'New_York' (a name of the "
            "zone database, like Europe/Berlin, or UTC)"},
    Example{"RL.ALLOW login:1.2.3.4 1/m,ban=15m", "1 0 0 60000 0"},
    Example{"RL.ALLOW login:1.2.3.4 1/m,ban=15m", "0 0 900000 900000 0"},
    Example{"RL.ALLOW job 10/5min WITHLIMITS",
            "1 9 0 30000 0\n"
            "[[\"10/5m\" 1 10 9 0 30000 0 1 0]]"},
    Example{"RL.ALLOW user:42 10/x",
            "ERR invalid limit '10/x': unknown unit 'x' (us, ms, s, m, h, d, w, or day, week, "
            "month, year)"},
    Example{"RL.ALLOW user:42 10/days",
            "ERR invalid limit '10/days': unknown unit 'days' (us, ms, s, m, h, d, w, or day, "
            "week, month, year): did you mean 10/day (the calendar's) or 10/d (24 hours)?"},
    Example{"RL.ALLOW user:42 10/s,brust=20",
            "ERR invalid limit '10/s,brust=20': unknown option 'brust=20': did you mean burst=?"},
    Example{"RL.ALLOW user:42 1.5/s",
            "ERR invalid limit '1.5/s': count must be whole: 1.5/s is 3/2s"},
    Example{"RL.ALLOW user:42 10 60",
            "ERR invalid limit '10': expected count/period, as in 10/s: did you mean 10/60s?"},
};
inline constexpr std::array kCharge = {
    Example{"RL.ALLOW llm 10/m COST 8", "1 2 0 48000 0"},
    Example{"RL.CHARGE llm 10/m COST 5", "0 0 24000 78000 0"},
    Example{"RL.ALLOW llm 10/m", "0 0 24000 78000 0"},
    Example{"RL.INSPECT llm", "[[\"10/m\" 0 78000 13 0]]"},
    Example{"RL.CHARGE llm 10/m COST 100", "0 0 66000 120000 0"},
    Example{"RL.CHARGE llm 10/m OR pool 99/m",
            "ERR OR stands in RL.ALLOW, RL.PEEK and RL.RESERVE only: name what was won"},
};
inline constexpr std::array kPeek = {
    Example{"RL.PEEK user:42 10/s COST 10", "1 0 0 1000 0"},
    Example{"EXISTS user:42", "0"},
};
inline constexpr std::array kInspect = {
    Example{"RL.ALLOW user:42 10/s 1000/h", "1 9 0 3600 0"},
    Example{"RL.INSPECT user:42", "[\"10/s\" 9 100 1 0]\n[\"1000/h\" 999 3600 1 0]"},
};
inline constexpr std::array kReserve = {
    Example{"RL.RESERVE team:7 10/s 100k/m,cost=1500 5,held HOLD req-81 TTL 120000",
            "1 4 0 120000 2"},
    Example{"RL.RESERVE team:7 10/s 100k/m,cost=1500 5,held HOLD req-81 TTL 120000",
            "1 4 0 120000 2"},
    Example{"RL.RESERVE team:7 10/s HOLD req-81 TTL 120000",
            "ERR hold 'req-81' is another request"},
    Example{"RL.INSPECT team:7 HOLDS",
            R"([["req-81" 120000 0 "10/s" 1 "100k/m" 1500 "5,held" 1]])"},
    Example{"RL.ALLOW team:7 5,held", "ERR a held limit needs RL.RESERVE"},
    Example{"RL.RESERVE team:7 5,held", "ERR RL.RESERVE needs HOLD id TTL milliseconds"},
    Example{"RL.RESERVE gpu:1 1,held OR gpu:2 1,held HOLD job-1 TTL 120000", "1 0 0 120000 0"},
    Example{"RL.RESERVE gpu:1 1,held OR gpu:2 1,held HOLD job-2 TTL 120000", "1 0 0 120000 1"},
    Example{"RL.COMMIT gpu:2 HOLD job-2", "1 1 0 0 0"},
};
inline constexpr std::array kCommit = {
    Example{"RL.RESERVE team:7 10/s 100k/m,cost=1500 HOLD req-81 TTL 120000", "1 9 0 900 0"},
    Example{"RL.COMMIT team:7 100k/m,cost=812 HOLD req-81", "1 99188 0 488 0"},
    Example{"RL.COMMIT team:7 100k/m,cost=812 HOLD req-81", "1 99188 0 488 0"},
    Example{"RL.COMMIT team:7 50/h HOLD req-81", "ERR hold 'req-81' has no limit '50/h'"},
    Example{"RL.COMMIT team:7 HOLD req-82", "0 0 0 0 0"},
    Example{"RL.COMMIT team:7 10 60 HOLD req-81",
            "ERR invalid limit '10': expected count/period, as in 10/s: did you mean 10/60s?"},
    Example{"RL.COMMIT team:7 100k/m,cost=812", "ERR RL.COMMIT needs HOLD id"},
};
inline constexpr std::array kCancel = {
    Example{"RL.RESERVE job 100/h COST 40 HOLD job-1 TTL 60000", "1 60 0 1440000 0"},
    Example{"RL.CANCEL job HOLD job-1", "1 100 0 0 0"},
};
inline constexpr std::array kSlice = {
    Example{"RL.SLICE tenant:7 100/s NEED 1 UNIT 1 UPTO 50 HOLD w1-1 TTL 500",
            "26 74 0 260000 0 500000 1767225600000000\n"
            "[[\"100/s\" 1 100 74 0 260000 0 1 0]]"},
    Example{"RL.SLICE tenant:7 100/s NEED 1 UNIT 1 UPTO 50 HOLD w1-1 TTL 500",
            "ERR hold 'w1-1' is open"},
    Example{"RL.COMMIT tenant:7 COST 10 HOLD w1-1", "1 90 0 100 0"},
    Example{"RL.COMMIT tenant:7 COST 10 HOLD w1-2", "0 0 0 0 0"},
    Example{"RL.SLICE tenant:7 100/s NEED 95 UNIT 1 UPTO 95 HOLD w1-2 TTL 500",
            "90 0 10000 1000000 0 500000 1767225600000000\n"
            "[[\"100/s\" 0 100 0 10000 1000000 0 1 0]]"},
    Example{"RL.SLICE login:1 5/m,ban=15m NEED 1 UNIT 1 UPTO 5 HOLD w1-3 TTL 500",
            "1 4 0 12000000 0 0 1767225600000000\n"
            "[[\"5/m,ban=15m\" 1 5 4 0 12000000 0 1 0]]"},
    Example{"RL.SLICE tenant:7 100/s NEED 1 UNIT 1 UPTO 5",
            "ERR RL.SLICE needs NEED units UNIT units UPTO units HOLD id TTL milliseconds"},
};
inline constexpr std::array kReset = {
    Example{"RL.ALLOW user:42 10/s 1000/h", "1 9 0 3600 0"},
    Example{"RL.RESET user:42 10/s", "1"},
    Example{"RL.RESET user:42", "1"},
    Example{"RL.RESET user:42", "0"},
};
inline constexpr std::array kTake = {
    Example{"RL.TAKE replica:3 100/s UPTO 30", "30 70 0 300 0"},
    Example{"RL.TAKE replica:3 100/s UPTO 500", "70 0 0 1000 0"},
    Example{"RL.TAKE replica:3 100/s UPTO 30", "0 0 10 1000 0"},
    Example{"RL.TAKE replica:3 100/s", "ERR RL.TAKE needs UPTO tokens"},
};
inline constexpr std::array kRefund = {
    Example{"RL.ALLOW job 10/m COST 10", "1 0 0 60000 0"},
    Example{"RL.REFUND job 10/m COST 4", "1 4 0 36000 0"},
};
inline constexpr std::array kWait = {
    Example{"RL.WAIT mail 2/s TIMEOUT 1000", "1 1 0 500 0"},
    Example{"RL.ALLOW mail 2/s", "1 0 0 1000 0"},
    Example{"RL.WAIT mail 2/s TIMEOUT 100", "0 0 500 1000 0"},
    Example{"RL.WAIT to:example.org 10/s AND mail 2/s TIMEOUT 100", "0 0 500 1000 1"},
    Example{"EXISTS to:example.org", "0"},
    Example{"RL.WAIT mail 2/s", "ERR RL.WAIT needs TIMEOUT milliseconds"},
};
inline constexpr std::array kPolicySet = {
    Example{"RL.POLICY SET free 2/s 1000/h", "OK"},
    Example{"RL.ALLOW user:42 @free", "1 1 0 3600 0"},
    Example{"RL.POLICY SET free 2/s @other",
            "ERR invalid limit '@other': a policy cannot hold another"},
    Example{"RL.ALLOW user:42 @gold", "ERR unknown policy 'gold': RL.POLICY SET makes one"},
    Example{"RL.ALLOW user:42 @fre",
            "ERR unknown policy 'fre': did you mean @free? RL.POLICY SET makes one"},
    Example{"RL.POLICY SET paid 10 60",
            "ERR invalid limit '10': expected count/period, as in 10/s: did you mean 10/60s?"},
    Example{"RL.POLICY SET paid 5/h", "OK"},
    Example{"RL.ALLOW user:42 @paid COST 5", "1 0 0 3600000 0"},
    Example{"RL.POLICY SET paid 500/h,burst=5", "OK"},
    Example{"RL.ALLOW user:42 @paid", "0 0 3571200 3600000 0"},
    Example{"RL.POLICY SET paid 500/h,burst=5 TRIM", "OK"},
    Example{"RL.ALLOW user:42 @paid", "0 0 7200 36000 0"},
};
inline constexpr std::array kPolicyOverride = {
    Example{"RL.POLICY SET free 2/s", "OK"},
    Example{"RL.POLICY OVERRIDE free user:1 100/s", "OK"},
    Example{"RL.POLICY OVERRIDE free user:2 none", "OK"},
    Example{"RL.POLICY OVERRIDE fre user:3 none",
            "ERR unknown policy 'fre': did you mean free? RL.POLICY SET makes one"},
    Example{"RL.ALLOW user:1 @free", "1 99 0 10 0"},
    Example{"RL.ALLOW user:2 @free", "0 0 -1 0 0"},
    Example{"RL.POLICY OVERRIDES free", "[\"user:1\" \"100/s\"]\n[\"user:2\" \"none\"]"},
    Example{"RL.POLICY SET trial 1000/d", "OK"},
    Example{"RL.ALLOW user:3 @trial COST 1000", "1 0 0 86400000 0"},
    Example{"RL.POLICY OVERRIDE trial user:3 100/m", "OK"},
    Example{"RL.ALLOW user:3 @trial", "0 0 600 60000 0"},
};
inline constexpr std::array kPolicyUnoverride = {
    Example{"RL.POLICY SET free 2/s", "OK"},
    Example{"RL.POLICY OVERRIDE free user:1 100/s", "OK"},
    Example{"RL.POLICY UNOVERRIDE free user:1", "1"},
    Example{"RL.ALLOW user:1 @free", "1 1 0 500 0"},
};
inline constexpr std::array kStats = {
    Example{"RL.ALLOW user:42 1/s", "1 0 0 1000 0"},
    Example{"RL.ALLOW user:42 1/s", "0 0 1000 1000 0"},
    Example{"RL.STATS", "[\"(total)\" 1 1 0 1 0 0]\n[\"1/s\" 1 1 0 1 0 0]"},
};
inline constexpr std::array kThrottle = {
    Example{"CL.THROTTLE user:42 4 1 60", "0 5 4 -1 60"},
    Example{"CL.THROTTLE user:42 4 1 60 5", "1 5 4 60 60"},
    Example{"CL.THROTTLE user:42 4 1 60 6", "1 5 4 -1 60"},
};
inline constexpr std::array kTop = {
    Example{"RL.ALLOW user:42 none", "0 0 -1 0 0"},
    Example{"RL.TOP", "[[\"user:42\" 1 0]]"},
    Example{"RL.TOP 5 LIMIT none", "[[\"user:42\" 1 0]]"},
    Example{"RL.ALLOW user:43 10/s COST 8", "1 2 0 800 0"},
    Example{"RL.TOP 5 NEAR", "[[\"user:43\" 1 0]]"},
};
inline constexpr std::array kRlThrottle = {
    Example{"RL.THROTTLE user:42 4 1 60", "0 5 4 -1 60"},
    Example{"CL.THROTTLE user:42 4 1 60 0", "0 5 4 -1 60"},
};

}  // namespace weir::examples
