// Parts of the live page's JSON that several of its answers have.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/instant.h"
#include "core/policies/policy.h"

namespace weir {

struct Services;

// An instant of the server's clock as Unix time in milliseconds, as the wall clock has it.
[[nodiscard]] std::int64_t UnixMillis(const Services& services, Instant instant);

// Appends "limits":["10/s","1000/h"].
void AppendLimits(const PolicyLimits& limits, std::string& out);

}  // namespace weir
