// Cases of docs/conformance.md: holds, and the same in limitador and in LiteLLM. Part of
// conformance_test.cc.
#pragma once

#include <array>

#include "tests/commands/conformance_case.h"

namespace weir::conformance {

inline constexpr std::array kHolds = {
    HoldCase{.title = "The reply of a reservation is lost",
             .event = "The caller does not know if it holds the tokens, and sends the same again.",
             .here = "The id is the caller's. The same words charge nothing, answer as admitted, "
                     "and begin the TTL again.",
             .limitador = "Each Reserve makes a new random id, so a repeated one holds the amount "
                          "twice, until the first expires.",
             .litellm = "If Redis does not answer, the request is decided again in the memory of "
                        "the process. An amount that Redis did add stays until its window ends.",
             .transcript = R"(> RL.RESERVE k 100/h,fixed COST 40 HOLD a TTL 60000
1 60 0 3600000 0
# 1 s later
> RL.RESERVE k 100/h,fixed COST 40 HOLD a TTL 60000
1 60 0 3599000 0
> RL.INSPECT k HOLDS
[["a" 60000 0 "100/h,fixed" 40]]
)"},
    HoldCase{.title = "The same id with other limits",
             .event = "A caller uses an id again for another request.",
             .here = "It is an error, and nothing changes. A settlement of a limit that was not "
                     "reserved is an error, too.",
             .limitador = "A Reserve cannot name an id. A Commit for other counters charges them "
                          "and releases nothing.",
             .litellm = "Not found: the process makes an id for each request.",
             .transcript = R"(> RL.RESERVE k 100/h,fixed COST 40 HOLD a TTL 60000
1 60 0 3600000 0
> RL.RESERVE k 100/h,fixed COST 50 HOLD a TTL 60000
ERR hold 'a' is another request
> RL.RESERVE k 50/h,fixed COST 40 HOLD a TTL 60000
ERR hold 'a' is another request
> RL.COMMIT k 50/h,fixed COST 10 HOLD a
ERR hold 'a' has no limit '50/h,fixed'
> RL.INSPECT k HOLDS
[["a" 60000 0 "100/h,fixed" 40]]
)"},
    HoldCase{.title = "A settlement that is repeated",
             .event = "A caller releases twice, or does not know if its first release arrived.",
             .here = "It answers 1 again and changes nothing, for a minute or until the TTL would "
                     "have ended if that is sooner. Later it answers 0.",
             .limitador = "The second Commit releases nothing, but charges the actual amount a "
                          "second time, as a test expects.",
             .litellm = "A slot is removed by its id, so a second release changes nothing. A "
                        "failed call and a batch are refunded once. A guard against a second "
                        "settlement of a call that succeeded was not found.",
             .transcript = R"(> RL.RESERVE k 100/h,fixed COST 40 HOLD a TTL 60000
1 60 0 3600000 0
> RL.COMMIT k 100/h,fixed COST 10 HOLD a
1 90 0 3600000 0
> RL.COMMIT k 100/h,fixed COST 10 HOLD a
1 90 0 3600000 0
> RL.CANCEL k HOLD a
1 90 0 3600000 0
# 60 s later
> RL.COMMIT k 100/h,fixed COST 10 HOLD a
0 0 0 0 0
)"},
    HoldCase{.title = "A settlement after the expiry",
             .event = "A call takes longer than its hold.",
             .here = "The answer is 0, and nothing has changed. The caller decides whether "
                     "RL.CHARGE charges the tokens that were used.",
             .limitador = "The actual amount is charged anyway, and the result says that no "
                          "reservation was released.",
             .litellm = "Reserved tokens do not expire before their window (see: A settlement in a "
                        "later window). A slot ends after an hour, and its late release removes "
                        "nothing. The record of a batch expires no later than its counter.",
             .transcript = R"(> RL.RESERVE k 100/h,fixed COST 40 HOLD a TTL 1000
1 60 0 3600000 0
# 1 s later
> RL.COMMIT k 100/h,fixed COST 30 HOLD a
0 0 0 0 0
> RL.CHARGE k 100/h,fixed COST 30
1 70 0 3600000 0
)"},
    HoldCase{
        .title = "A caller that crashes while others ask",
        .event = "No settlement comes, and other requests wait for the tokens.",
        .here = "At the nanosecond of the expiry the tokens are back, for the next request that "
                "fits. No timer is needed, and no token is given twice.",
        .limitador = "Reservations that have expired no longer count for the next Reserve, so "
                     "it may have the amount. They last 60 s at most by default, and never "
                     "longer than the window.",
        .litellm = "The estimate stays charged until its window ends. A slot is removed by "
                   "the next request after an hour. The counter of a batch expires, but each "
                   "new batch begins its time again, so under steady load it keeps the amount.",
        .transcript = R"(> RL.RESERVE k 100/h,fixed COST 80 HOLD a TTL 30000
1 20 0 3600000 0
> RL.ALLOW k 100/h,fixed COST 60
0 20 3600000 3600000 0
# 29999999999 ns later
> RL.ALLOW k 100/h,fixed COST 60
0 20 3570001 3570001 0
# 1 ns later
> RL.ALLOW k 100/h,fixed COST 60
1 40 0 3600000 0
> RL.ALLOW k 100/h,fixed COST 60
0 40 3600000 3600000 0
)"},
    HoldCase{.title = "An estimate that was too high",
             .event = "A call has used less than it reserved, and time has passed since.",
             .here = "A token bucket gives back the difference less the tokens that time has "
                     "returned already. So it never has more tokens than if the true cost had been "
                     "charged; here it has as many.",
             .limitador = "Only the actual amount enters the counter of a window, so nothing needs "
                          "to be returned. The whole estimate is set aside until the Commit. "
                          "Buckets that fill with time were not found.",
             .litellm = "The difference is subtracted from the counter of the window. Buckets that "
                        "fill with time were not found.",
             .transcript = R"(> RL.RESERVE k 60/m COST 50 HOLD a TTL 60000
1 10 0 50000 0
# 40 s later
> RL.ALLOW k 60/m COST 50
1 0 0 60000 0
> RL.COMMIT k 60/m COST 20 HOLD a
1 10 0 50000 0
# The same with the true cost
> RL.ALLOW true 60/m COST 20
1 40 0 20000 0
# 40 s later
> RL.ALLOW true 60/m COST 50
1 10 0 50000 0
)"},
    HoldCase{
        .title = "An estimate that was too low",
        .event = "A call has used more than it reserved, and more than is left.",
        .here = "The difference is charged, and later requests wait until it is paid, as after "
                "RL.CHARGE.",
        .limitador = "The whole actual amount is added, above the maximum if need be. Requests "
                     "are denied until the window ends.",
        .litellm = "The difference is added without a check, above the limit if need be. "
                   "Requests are denied until the window ends.",
        .transcript = R"(> RL.RESERVE k 60/m COST 30 HOLD a TTL 60000
1 30 0 30000 0
> RL.ALLOW k 60/m COST 20
1 10 0 50000 0
> RL.COMMIT k 60/m COST 50 HOLD a
1 0 11000 70000 0
> RL.ALLOW k 60/m
0 0 11000 70000 0
)"},
    HoldCase{.title = "A limiter that crashes",
             .event = "The server ends between a reservation and its settlement.",
             .here = "A hold and its charge are saved together, so a crash keeps both or neither; "
                     "if neither, the settlement answers 0. With `--durability always` no hold "
                     "that was answered is forgotten. A test kills the server.",
             .limitador = "In memory all is forgotten. With RocksDB and with the cached Redis "
                          "storage, reservations are in the memory of the process and are "
                          "forgotten; the other Redis storages keep them. A Commit charges the "
                          "actual amount in each case.",
             .litellm =
                 "The note of what a request reserved is in the memory of the process. After "
                 "a crash the estimate stays in Redis until its window ends, and a slot for "
                 "an hour.",
             .transcript = R"(> RL.RESERVE k 100/h,fixed COST 40 HOLD a TTL 60000
1 60 0 3600000 0
# A crash that forgets both is as this:
> FLUSHALL
OK
> RL.COMMIT k 100/h,fixed COST 30 HOLD a
0 0 0 0 0
> RL.CHARGE k 100/h,fixed COST 30
1 70 0 3600000 0
)"},
    HoldCase{.title = "A clock that goes back under a hold",
             .event = "The time of a request is before that of the reservation.",
             .here = "The server's time never goes back. Where requests bring the time, a hold "
                     "ends once, at its own time, and stays ended when the time goes back.",
             .limitador = "Expiries are compared with the wall clock of the process, with Redis, "
                          "too. If it is set back, reservations may last longer by as much. No "
                          "test of it was found.",
             .litellm =
                 "Windows of tokens, and slots, go by the wall clock of Redis, so the "
                 "clocks of the processes need not agree. If that of Redis is set back, they "
                 "may last longer. No test of it was found.",
             .transcript = R"(> RL.RESERVE k 1,held HOLD a TTL 5000 AT 1700000010000000000
1 0 0 5000 0
> RL.RESERVE k 1,held HOLD b TTL 5000 AT 1700000005000000000
0 0 10000 10000 0
> RL.RESERVE k 1,held HOLD b TTL 5000 AT 1700000015000000000
1 0 0 5000 0
> RL.COMMIT k HOLD a AT 1700000012000000000
0 0 0 0 0
> RL.RESERVE k 1,held HOLD c TTL 5000 AT 1700000012000000000
0 0 8000 8000 0
)",
             .explicit_time = true},
    HoldCase{
        .title = "A reservation over several limits, one of which denies",
        .event = "A user has tokens, but the slots of the team are in use.",
        .here = "Nothing is charged or held, of any key. The reply names the limit that denied.",
        .limitador = "Nothing is held unless all counters admit it.",
        .litellm = "The limits of a key are one step, those of its team another: the first is "
                   "charged, and refunded if the second denies, so requests in between may be "
                   "denied without need. The number of requests is counted before the tokens, and "
                   "stays counted if these are denied.",
        .transcript = R"(> RL.RESERVE team:7 1,held HOLD a TTL 60000
1 0 0 60000 0
> RL.RESERVE user:42 10/m 100k/m,cost=1500 AND team:7 1,held HOLD b TTL 60000
0 0 60000 60000 2
> RL.PEEK user:42 10/m 100k/m COST 0 WITHLIMITS
1 10 0 0 0
[["10/m" 1 10 10 0 0 0 0 0]
 ["100k/m" 1 100000 100000 0 0 0 0 0]]
> RL.INSPECT user:42 HOLDS
[]
)"},
    HoldCase{.title = "A settlement in a later window",
             .event = "A call begins in one window and ends in the next.",
             .here = "The difference belongs to the window of the reservation. A later window "
                     "gets nothing back.",
             .limitador = "The reservation ends with its window at the latest. The whole actual "
                          "amount is charged to the window of the Commit.",
             .litellm = "For most limits the tokens that were not used are subtracted from the "
                        "count of the later window. Limits of a project on input and output note "
                        "the start of the window, and drop the difference if it is another one.",
             .transcript = R"(> RL.RESERVE k 100/m,fixed COST 80 HOLD a TTL 120000
1 20 0 60000 0
# 60 s later
> RL.ALLOW k 100/m,fixed COST 30
1 70 0 60000 0
> RL.COMMIT k 100/m,fixed COST 10 HOLD a
1 70 0 60000 0
> RL.ALLOW k 100/m,fixed COST 71
0 70 60000 60000 0
)"},
    HoldCase{.title = "A worker that hung and comes back",
             .event = "Its slot has expired, and another worker has it.",
             .here = "Its release and its heartbeat find no hold, and neither frees the slot of "
                     "the other worker. A worker that is alive renews its slot by the same words.",
             .limitador = "Not found: its limits count in windows, and have no slots.",
             .litellm = "A release removes the worker's own id, so it frees no other slot; if "
                        "Redis fails, a count without ids is lowered instead. A slot ends after an "
                        "hour, also under a call that still runs. Realtime calls have a lease that "
                        "is renewed; the code that ties it to a slot was not found.",
             .transcript = R"(> RL.RESERVE job 1,held HOLD worker-1 TTL 30000
1 0 0 30000 0
# 30 s later
> RL.RESERVE job 1,held HOLD worker-2 TTL 30000
1 0 0 30000 0
> RL.COMMIT job HOLD worker-1
0 0 0 0 0
> RL.RESERVE job 1,held HOLD worker-1 TTL 30000
0 0 30000 30000 0
> RL.INSPECT job HOLDS
[["worker-2" 30000 0 "1,held" 1]]
)"},
};

}  // namespace weir::conformance
