// Cases of docs/conformance.md: costs, denials, several limits. Part of conformance_test.cc.
#pragma once

#include <array>

#include "tests/commands/conformance_case.h"

namespace weir::conformance {

inline constexpr std::array kCosts = {
    ConformanceCase{.title = "A cost above the burst",
                    .elsewhere = "It is denied with a time to retry, after which it is denied "
                                 "again, forever (clipperhouse/rate, throttlecrab, redis_rate).",
                    .here = "The time to retry is -1, never, and the tokens stay.",
                    .transcript = R"(> RL.ALLOW k 5/s COST 6
0 5 -1 0 0
> RL.ALLOW k 5/s COST 5
1 0 0 1000 0
> CL.THROTTLE k 4 1 60 6
1 5 5 -1 0
)"},
    ConformanceCase{.title = "A cost of zero",
                    .elsewhere = "It creates the key (redis-cell, throttlecrab), or is an error.",
                    .here = "It always passes, and writes and creates nothing.",
                    .transcript = R"(> RL.ALLOW k 5/s COST 0
1 5 0 0 0
> CL.THROTTLE k 4 1 60 0
0 5 5 -1 0
> EXISTS k
0
> DBSIZE
0
> RL.ALLOW k 5/s COST 5
1 0 0 1000 0
> RL.ALLOW k 5/s COST 0
1 0 0 1000 0
)"},
    ConformanceCase{.title = "A cost below zero",
                    .elsewhere = "It is computed with unchecked (redis-cell), or gives tokens back "
                                 "beyond the limit (gubernator).",
                    .here = "It is an error. RL.REFUND gives tokens back, and never past full.",
                    .transcript =
                        R"(> RL.ALLOW k 5/s COST -1
ERR invalid COST '-1': value is not an integer or out of range (0 to 9223372036854775807)
> CL.THROTTLE k 4 1 60 -1
)"
                        "ERR invalid quantity '-1': value is not an integer or out of range (0 to "
                        "9223372036854775807)\n"
                        R"(> RL.ALLOW k 5/s COST 2
1 3 0 400 0
> RL.REFUND k 5/s COST 5
1 5 0 0 0
> RL.ALLOW k 5/s COST 6
0 5 -1 0 0
> RL.ALLOW k 5/s COST 5
1 0 0 1000 0
)"},
    ConformanceCase{
        .title = "A denied request",
        .elsewhere = "It is counted anyway (rate-limiter-flexible, envoy-ratelimit), or empties "
                     "the bucket if it costs more than what is left (upstash/ratelimit).",
        .here = "It takes nothing: a request for what is left passes, and the time to retry does "
                "not grow.",
        .transcript = R"(> RL.ALLOW k 5/s 3/m,fixed COST 2
1 1 0 60000 1
> RL.ALLOW k 5/s 3/m,fixed COST 2
0 1 60000 60000 1
> RL.ALLOW k 5/s 3/m,fixed COST 2
0 1 60000 60000 1
> RL.ALLOW k 5/s 3/m,fixed
1 0 0 60000 1
)"},
    ConformanceCase{
        .title = "As many tokens as there are",
        .elsewhere = "Clients ask again and again with smaller costs, or a fraction of a token is "
                     "charged that no client gets (redis_rate).",
        .here =
            "RL.TAKE grants whole tokens. The half token that is left over stays in the bucket.",
        .transcript = R"(> RL.TAKE k 10/s UPTO 99
10 0 0 1000 0
# 150 ms later
> RL.TAKE k 10/s UPTO 99
1 0 0 950 0
# 50 ms later
> RL.TAKE k 10/s UPTO 99
1 0 0 1000 0
> RL.TAKE k 10/s UPTO 99
0 0 100 1000 0
)"},
};

inline constexpr std::array kSeveral = {
    ConformanceCase{.title = "One of two limits denies",
                    .elsewhere = "The other limit has been charged (envoy-ratelimit, gubernator, "
                                 "rate-limiter-flexible), or is charged for a moment in which it "
                                 "denies requests without need (Unkey).",
                    .here = "Nothing is charged anywhere. The reply names the limit that denied.",
                    .transcript = R"(> RL.ALLOW a 5/m
1 4 0 12000 0
> RL.ALLOW b 1/s
1 0 0 1000 0
> RL.ALLOW a 5/m AND b 1/s
0 0 1000 12000 1
> RL.PEEK a 5/m COST 0
1 4 0 12000 0
)"},
    ConformanceCase{.title = "The time to retry under several limits",
                    .elsewhere = "It is that of the first limit that denied.",
                    .here = "It is the longest of all limits: after it the whole request passes.",
                    .transcript = R"(> RL.ALLOW k 1/s 1/m
1 0 0 60000 0
> RL.ALLOW k 1/s 1/m
0 0 60000 60000 1
# 59999 ms later
> RL.ALLOW k 1/s 1/m
0 0 1 1 1
# 1 ms later
> RL.ALLOW k 1/s 1/m
1 0 0 60000 0
)"},
    ConformanceCase{
        .title = "Later for one limit, never for another",
        .elsewhere = "Clients wait as one limit says, and are then denied by the other.",
        .here = "Never wins: the time to retry is -1.",
        .transcript = R"(> RL.ALLOW k 2/m COST 2
1 0 0 60000 0
> RL.ALLOW k 2/m 5/m,cost=6
0 0 -1 60000 1
)"},
    ConformanceCase{.title = "The same limit twice in a request",
                    .elsewhere = "The request locks itself out forever (clipperhouse/rate), or "
                                 "both pass though there is one token.",
                    .here = "They are one check with the sum of the costs.",
                    .transcript = R"(> RL.ALLOW k 3/m
1 2 0 20000 0
> RL.ALLOW k 3/m 3/m
1 0 0 60000 0
> RL.ALLOW k 3/m
0 0 20000 60000 0
> RL.ALLOW k 3/m 3/m COST 2
0 0 -1 60000 0
)"},
    ConformanceCase{.title = "Another cost for each limit",
                    .elsewhere =
                        "One cost is charged to all limits (clipperhouse/rate), which spoils those "
                        "that count something else (envoy-ratelimit's issue 1060).",
                    .here = "Each limit has its own cost.",
                    .transcript = R"(> RL.ALLOW k 10/s 100k/m,cost=1500,name=words WITHLIMITS
1 9 0 900 0
[["10/s" 1 10 9 0 100 0 1 0]
 ["words" 1 100000 98500 0 900 0 1500 0]]
)"},
};

}  // namespace weir::conformance
