// Cases of docs/conformance.md: arithmetic and rounding. Part of conformance_test.cc.
#pragma once

#include <array>

#include "tests/commands/conformance_case.h"

namespace weir::conformance {

inline constexpr std::array kNumbers = {
    ConformanceCase{
        .title = "A rate that does not divide a second",
        .elsewhere = "The time of one token is rounded to whole nanoseconds or microseconds, or "
                     "kept as a floating-point number, so the rate drifts from what was asked.",
        .here = "The time of a token is an exact fraction: `3/s` gives one token each third of a "
                "second, and nothing is ever rounded away.",
        .transcript = R"(> RL.ALLOW k 3/s COST 3
1 0 0 1000 0
# 333 ms later
> RL.ALLOW k 3/s
0 0 1 667 0
# 1 ms later
> RL.ALLOW k 3/s
1 0 0 1000 0
# 332 ms later
> RL.ALLOW k 3/s
0 0 1 668 0
# 1 ms later
> RL.ALLOW k 3/s
1 0 0 1000 0
)"},
    ConformanceCase{.title = "A rate of nearly one token a nanosecond",
                    .elsewhere = "The time of one token is cut to whole nanoseconds; if that "
                                 "leaves 0, every request passes (clipperhouse/rate).",
                    .here = "A token takes 1.000000063 ns: after 1 ns the bucket is still empty, "
                            "after 2 ns it has its token.",
                    .transcript = R"(> CL.THROTTLE k 0 999999937 1
0 1 0 -1 1
> CL.THROTTLE k 0 999999937 1
1 1 0 1 1
# 1 ns later
> CL.THROTTLE k 0 999999937 1
1 1 0 1 1
# 1 ns later
> CL.THROTTLE k 0 999999937 1
0 1 0 -1 1
)"},
    ConformanceCase{.title = "Remaining tokens at thousands a second",
                    .elsewhere = "Dividing by a time that was cut to microseconds shows too many: "
                                 "redis-cell shows 6024 of 6001.",
                    .here = "6001 tokens less one are 6000.",
                    .transcript = R"(> CL.THROTTLE k 6000 6000 1
0 6001 6000 -1 1
> CL.THROTTLE k 6000 6000 1 6000
0 6001 0 -1 2
> CL.THROTTLE k 6000 6000 1
1 6001 0 1 2
)"},
    ConformanceCase{.title = "More than a million a second",
                    .elsewhere = "redis-cell divides by a time that was cut to 0 and shows 2^63-1 "
                                 "remaining (its issue 50). Others treat the rate as a million.",
                    .here = "A count of billions a second is a limit like any other.",
                    .transcript = R"(> CL.THROTTLE k 2000000 2000000 1
0 2000001 2000000 -1 1
> RL.ALLOW k 3G/s
1 2999999999 0 1 0
> RL.ALLOW k 3G/s COST 2999999999
1 0 0 1000 0
> RL.ALLOW k 3G/s
0 0 1 1000 0
)"},
    ConformanceCase{
        .title = "A capacity of one",
        .elsewhere =
            "throttlecrab keeps a bucket of one token for no time at all, so it never limits.",
        .here = "The second of two requests passes one second later.",
        .transcript = R"(> RL.ALLOW k 1/s
1 0 0 1000 0
> RL.ALLOW k 1/s
0 0 1000 1000 0
# 999 ms later
> RL.ALLOW k 1/s
0 0 1 1 0
# 1 ms later
> RL.ALLOW k 1/s
1 0 0 1000 0
)"},
    ConformanceCase{
        .title = "After a long pause",
        .elsewhere = "An idle bucket counts as fuller than full and passes nearly twice its burst "
                     "(throttlecrab), or one request too many when the clock first moves (governor "
                     "before 0.8).",
        .here = "A full bucket stays full: after any pause it passes its burst and no more.",
        .transcript = R"(> RL.ALLOW k 5/s COST 5
1 0 0 1000 0
# 2 s later
> RL.ALLOW k 5/s COST 6
0 5 -1 0 0
> RL.ALLOW k 5/s COST 5
1 0 0 1000 0
# 30 days later
> RL.ALLOW k 5/s COST 5
1 0 0 1000 0
> RL.ALLOW k 5/s
0 0 200 1000 0
)"},
    ConformanceCase{.title = "A retry after the time in the reply",
                    .elsewhere = "The time to retry is rounded down, to 0 if it is under a second "
                                 "(throttlecrab), so the client comes back too early and is denied "
                                 "again; or it is a second too long (Dragonfly's issue 1008).",
                    .here = "The time to retry is rounded up to milliseconds: a client that waits "
                            "that long is admitted, and 1 ms sooner it is denied.",
                    .transcript = R"(> RL.ALLOW k 7/s COST 7
1 0 0 1000 0
> RL.ALLOW k 7/s COST 2
0 0 286 1000 0
# 285 ms later
> RL.ALLOW k 7/s COST 2
0 1 1 715 0
# 1 ms later
> RL.ALLOW k 7/s COST 2
1 0 0 1000 0
)"},
    ConformanceCase{
        .title = "Seconds to wait, in CL.THROTTLE",
        .elsewhere = "10 s are shown as 11 (Dragonfly), less than a millisecond as 0 (redis-cell).",
        .here = "Seconds are rounded up, and whole seconds stay as they are.",
        .transcript = R"(> CL.THROTTLE k 2 3 1
0 3 2 -1 1
> CL.THROTTLE k 2 3 1
0 3 1 -1 1
> CL.THROTTLE k 2 3 1
0 3 0 -1 1
> CL.THROTTLE k 2 3 1
1 3 0 1 1
> CL.THROTTLE ten 0 1 10
0 1 0 -1 10
> CL.THROTTLE ten 0 1 10
1 1 0 10 10
)"},
    ConformanceCase{.title = "A cost so great that its time does not fit in 64 bits",
                    .elsewhere = "The product wraps around, and the request is allowed "
                                 "(clipperhouse/rate, 10^11 tokens of 10 a second).",
                    .here = "The cost is above the burst, so it never passes.",
                    .transcript = R"(> RL.ALLOW k 10/s COST 100000000000
0 10 -1 0 0
> RL.ALLOW k 10/s COST 9223372036854775807
0 10 -1 0 0
> DBSIZE
0
)"},
    ConformanceCase{.title = "A budget beyond 32 bits",
                    .elsewhere = "A count has 32 bits (`requests_per_unit` of envoy-ratelimit), so "
                                 "bytes are counted in greater units.",
                    .here = "A window counts up to 2^51 - 1, in whole tokens.",
                    .transcript = R"(> RL.ALLOW k 10G/month COST 3000000000
1 7000000000 0 2678400000 0
> RL.ALLOW k 10G/month COST 3000000000
1 4000000000 0 2678400000 0
> RL.ALLOW k 10G/month COST 3000000000
1 1000000000 0 2678400000 0
> RL.ALLOW k 10G/month COST 3000000000
0 1000000000 2678400000 2678400000 0
> RL.REFUND k 10G/month COST 2000000001
1 3000000001 0 2678400000 0
> RL.CHARGE k 10G/month COST 4000000000
0 0 2678400000 2678400000 0
> RL.INSPECT k
[["10G/month" 0 2678400000 10999999999 0]]
> RL.ALLOW k 2251799813685247/year COST 2251799813685247
1 0 0 31536000000 0
> RL.ALLOW k 10G/month,sliding
)"
                                  "ERR invalid limit '10G/month,sliding': count must be 1 to "
                                  "2147483647 for a window: 10G/30d is a bucket that can, "
                                  "10G/month a window\n"},
    ConformanceCase{
        .title = "Numbers that cannot be kept exactly",
        .elsewhere = "They are cut to what fits, or wrap around, without an error (redis-cell, "
                     "throttlecrab).",
        .here = "They are an error, and nothing changes.",
        .transcript =
            R"(> CL.THROTTLE k 9223372036854775807 1 1
)"
            "ERR invalid max_burst '9223372036854775807': value is not an integer or out "
            "of range (0 to 9223372036854775806)\n"
            R"(> CL.THROTTLE k 1000000 1 9223372036
ERR invalid period '9223372036': value is not an integer or out of range (1 to 288230376)
> RL.ALLOW k 9223372036854775807/s
)"
            "ERR invalid limit '9223372036854775807/s': limit is too fine: period / count "
            "in lowest terms must have a denominator below 2^32 (here 9223372036854775807)\n"
            R"(> RL.ALLOW k 1/3285d,burst=10
)"
            "ERR invalid limit '1/3285d,burst=10': limit is too long: burst times period "
            "per token must be at most 2^60 ns (36 years)\n"
            R"(> DBSIZE
0
)"},
};

}  // namespace weir::conformance
