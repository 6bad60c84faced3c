// Cases of docs/conformance.md: parameters, keys, time. Part of conformance_test.cc.
#pragma once

#include <array>

#include "tests/commands/conformance_case.h"

namespace weir::conformance {

inline constexpr std::array kInput = {
    ConformanceCase{
        .title = "A count or a period of zero",
        .elsewhere =
            "A division by zero ends the program, or every request passes (clipperhouse/rate).",
        .here = "It is an error. The limit `none` never admits, `unlimited` always does.",
        .transcript =
            R"(> RL.ALLOW k 0/s
ERR invalid limit '0/s': count must be 1 to 9223372036854775807
> RL.ALLOW k 1/0s
ERR invalid limit '1/0s': period must be 1us to 2^58 ns (9 years)
> CL.THROTTLE k 4 0 60
)"
            "ERR invalid count_per_period '0': value is not an integer or out of range (1 "
            "to 9223372036854775807)\n"
            R"(> CL.THROTTLE k 4 1 0
ERR invalid period '0': value is not an integer or out of range (1 to 288230376)
> RL.ALLOW k none
0 0 -1 0 0
> RL.ALLOW k unlimited
1 9223372036854775807 0 0 0
> DBSIZE
0
)"},
    ConformanceCase{
        .title = "Negative numbers, and words that are not numbers",
        .elsewhere = "Negative numbers are computed with (redis-cell).",
        .here = "The error names the word and what would be right.",
        .transcript =
            R"(> CL.THROTTLE k -1 1 60
)"
            "ERR invalid max_burst '-1': value is not an integer or out of range (0 to "
            "9223372036854775806)\n"
            R"(> CL.THROTTLE k 4 -1 60
)"
            "ERR invalid count_per_period '-1': value is not an integer or out of range "
            "(1 to 9223372036854775807)\n"
            R"(> RL.ALLOW k -1/s
ERR invalid limit '-1/s': count '-1' must start with a digit
> RL.ALLOW k 1.5/s
ERR invalid limit '1.5/s': count must be whole: 1.5/s is 3/2s
> RL.ALLOW k 10/S
ERR invalid limit '10/S': unknown unit 'S' (us, ms, s, m, h, d, w, or day, week, month, year))"
            R"(: did you mean 10/s?
> RL.ALLOW k 10/s COST 01
ERR invalid COST '01': value is not an integer or out of range (0 to 9223372036854775807)
> DBSIZE
0
)"},
    ConformanceCase{.title = "A mistake in the last of several limits",
                    .elsewhere = "The limits before it are already charged.",
                    .here = "The whole request is read before anything is decided.",
                    .transcript = R"(> RL.ALLOW a 5/s AND b 5/s 0/s
ERR invalid limit '0/s': count must be 1 to 9223372036854775807
> EXISTS a b
0
)"},
    ConformanceCase{
        .title = "A key that is not text",
        .elsewhere = "The connection is closed (throttlecrab), or the module panics (redis-cell).",
        .here = "A key is any string of bytes, the empty one included.",
        .transcript = R"(> RL.ALLOW "\xff\x00\r\n" 5/s
1 4 0 200 0
> RL.ALLOW "" 5/s
1 4 0 200 0
> RL.ALLOW AND 5/s AND COST 5/s COST 2
1 3 0 400 1
> EXISTS "\xff\x00\r\n" "" AND COST
4
)"},
    ConformanceCase{
        .title = "A limit that is changed",
        .elsewhere = "The stored time is read with the new numbers, so a client may be locked out "
                     "for a long time.",
        .here = "A changed limit in a request is another limit, and starts full. A changed policy "
                "keeps every debt, in time. CL.THROTTLE keeps one bucket a key, whatever the "
                "numbers: as in redis-cell, a debt lasts as long as it did under the numbers that "
                "made it, so lowering them and raising them again forgives nothing.",
        .transcript = R"(> RL.ALLOW k 10/h COST 10
1 0 0 3600000 0
> RL.ALLOW k 11/h
1 10 0 327273 0
> RL.POLICY SET plan 10/h
OK
> RL.ALLOW k @plan COST 5
1 5 0 1800000 0
> RL.POLICY SET plan 20/h
OK
> RL.ALLOW k @plan COST 0
1 10 0 1800000 0
> CL.THROTTLE k 99 1 60 100
0 100 0 -1 6000
> CL.THROTTLE k 4 1 60
1 5 0 5760 6000
# 5760 s later
> CL.THROTTLE k 4 1 60
0 5 0 -1 300
)"},
};

inline constexpr std::array kTime = {
    ConformanceCase{
        .title = "A clock that goes back",
        .elsewhere = "Tokens are made from nothing, or clients are denied for as long as the wall "
                     "clock was set back.",
        .here = "The server's time is the machine's boot-time clock, which never goes back. Where "
                "requests bring the time and it goes back, no token is made.",
        .transcript = R"(> RL.ALLOW k 2/s COST 2 AT 1700000010000000000
1 0 0 1000 0
> RL.ALLOW k 2/s AT 1700000009500000000
0 0 1000 1500 0
> RL.ALLOW k 2/s AT 1700000010000000000
0 0 500 1000 0
> RL.ALLOW k 2/s AT 1700000010500000000
1 0 0 1000 0
> RL.ALLOW k 2/s AT 1700000010500000000
0 0 500 1000 0
)",
        .explicit_time = true},
    ConformanceCase{
        .title = "A stored time that cannot be right",
        .elsewhere = "A wrong entry locks its key out, for 115 days in one case "
                     "(upstash/ratelimit's pull request 156).",
        .here =
            "It is cut to what the limit can have produced: a token bucket (in a policy, the "
            "greatest that it has been) is empty, and owes as much again or the server's longest "
            "wait (60 s), whichever is longer; a window ends within two periods. So it delays, and "
            "never locks out. Only CL.THROTTLE, whose numbers come with each request, believes a "
            "debt of up to 36 years.",
        .transcript = R"(> RL.ALLOW k 2/s AT 1800000000000000000
1 1 0 500 0
> RL.ALLOW k 2/s AT 1700000000000000000
0 0 60500 61000 0
> RL.ALLOW k 2/s AT 1700000060499000000
0 0 1 501 0
> RL.ALLOW k 2/s AT 1700000060500000000
1 0 0 1000 0
)",
        .explicit_time = true},
    ConformanceCase{.title = "The end of a fixed window",
                    .elsewhere = "Denied requests are counted as well (rate-limiter-flexible), or "
                                 "windows end at rounded times.",
                    .here = "A window begins with its first request and ends one period later, to "
                            "the nanosecond; then the whole count is back.",
                    .transcript = R"(> RL.ALLOW k 2/s,fixed
1 1 0 1000 0
# 900 ms later
> RL.ALLOW k 2/s,fixed
1 0 0 100 0
> RL.ALLOW k 2/s,fixed
0 0 100 100 0
# 99999999 ns later
> RL.ALLOW k 2/s,fixed
0 0 1 1 0
# 1 ns later
> RL.ALLOW k 2/s,fixed COST 2
1 0 0 1000 0
)"},
    ConformanceCase{
        .title = "Days of 23 and of 25 hours",
        .elsewhere = "A daily or monthly budget is a period of 24 hours or 30 days, or renews at "
                     "midnight in UTC: not when the customers' day or month begins.",
        .here = "A window of the calendar begins when the local time of its zone says so, whatever "
                "the clocks do in it, and has the whole count once.",
        .transcript = R"(> RL.ALLOW k 2/day,tz=Europe/Berlin AT 1792879200000000000
1 1 0 90000000 0
> RL.ALLOW k 2/day,tz=Europe/Berlin AT 1792965600000000000
1 0 0 3600000 0
> RL.ALLOW k 2/day,tz=Europe/Berlin AT 1792969199999000000
0 0 1 1 0
> RL.ALLOW k 2/day,tz=Europe/Berlin AT 1792969200000000000
1 1 0 86400000 0
> RL.ALLOW k 2/month,tz=Europe/Berlin,from=31 AT 1792879200000000000
1 1 0 522000000 0
)",
        .explicit_time = true},
    ConformanceCase{.title = "A sliding window of one",
                    .elsewhere = "The count is rounded to nothing, or the limit never admits again "
                                 "(upstash/ratelimit's issue 39).",
                    .here = "The previous window counts in proportion to its overlap with the last "
                            "period, compared as a fraction.",
                    .transcript = R"(> RL.ALLOW k 1/s,sliding
1 0 0 2000 0
> RL.ALLOW k 1/s,sliding
0 0 2000 2000 0
# 1 s later
> RL.ALLOW k 1/s,sliding
0 0 1000 1000 0
# 999999999 ns later
> RL.ALLOW k 1/s,sliding
0 0 1 1 0
# 1 ns later
> RL.ALLOW k 1/s,sliding
1 0 0 2000 0
)"},
    ConformanceCase{
        .title = "Buckets that are no longer used",
        .elsewhere = "Entries stay as long as the process, are removed while they are used "
                     "(clipperhouse/rate), or have no time to live (upstash/ratelimit's issue 95).",
        .here = "A full bucket is the same as no bucket, and its key is gone.",
        .transcript = R"(> RL.ALLOW k 10/s COST 10
1 0 0 1000 0
> PTTL k
1000
# 999 ms later
> EXISTS k
1
# 1 ms later
> RL.INSPECT k
[]
# 1 ms later
> EXISTS k
0
> PTTL k
-2
)"},
};

}  // namespace weir::conformance
