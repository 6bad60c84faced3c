#include "server/page/page_json.h"

#include <chrono>

#include "protocol/json_string.h"
#include "server/session/services.h"

namespace weir {

std::int64_t UnixMillis(const Services& services, Instant instant) {
  const Nanos wall = instant.time_since_epoch() + services.wall_clock_offset();
  return std::chrono::floor<std::chrono::milliseconds>(wall).count();
}

void AppendLimits(const PolicyLimits& limits, std::string& out) {
  out += "\"limits\":[";
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (i > 0) out += ',';
    AppendJsonString(PolicyLimitText(limits[i]), out);
  }
  out += ']';
}

}  // namespace weir
