// Calls of Envoy's rate limit service and their answers in the JSON of protobuf.
//
//     {"domain":"shop","descriptors":[{"entries":[{"key":"user","value":"7"}]}]}
//     {"overallCode":"OK","statuses":[{"code":"OK","limitRemaining":19,...}]}
//
// Names are read in camelCase and as in the .proto file, units as texts or numbers, numbers as
// such or as texts. An unknown name is an error. Answers leave out what has its default value.
//
// Pure. Cost: about a microsecond for 128 bytes.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "rls/answer.h"

namespace weir {

// Reads a call, and returns the bytes of its message. Fails with kInvalidArgument.
[[nodiscard]] absl::StatusOr<std::string> MessageOfJson(std::string_view json);

[[nodiscard]] std::string JsonOf(const RateLimitAnswer& answer);

}  // namespace weir
