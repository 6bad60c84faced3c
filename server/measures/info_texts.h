// The values of INFO's fields that are made of several numbers, in Redis's form.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/instant.h"
#include "server/measures/measure.h"
#include "server/session/services.h"

namespace weir {

[[nodiscard]] std::int64_t WholeSeconds(Nanos span);
[[nodiscard]] std::string HumanBytes(std::uint64_t bytes);  // "1.50M"
// Two fields: the bytes, and with the end _human the same for people.
[[nodiscard]] MeasureFields BothSizes(std::uint64_t bytes);
[[nodiscard]] std::string Ratio(std::uint64_t dividend, std::uint64_t divisor);  // "1.50"
[[nodiscard]] std::string SystemName();  // "Linux 6.1.0 x86_64"
[[nodiscard]] std::uint64_t SystemMemory();
[[nodiscard]] std::string ProcessorSeconds(timeval rusage::*time);

// A field for each command, error, database or replica.
[[nodiscard]] MeasureFields CommandStats(ServerSnapshot& server);
[[nodiscard]] MeasureFields ErrorStats(ServerSnapshot& server);
[[nodiscard]] MeasureFields LatencyStats(ServerSnapshot& server);
[[nodiscard]] MeasureFields Databases(ServerSnapshot& server);
[[nodiscard]] MeasureFields Replicas(ServerSnapshot& server);

[[nodiscard]] std::string_view RoleWord(const Services& services);
// A replica's: Sentinel never promotes one with priority 0.
[[nodiscard]] std::int64_t Priority(ServerSnapshot& server);

}  // namespace weir
