// The rules for bodies of JSON that all paths under /v1 share.
#pragma once

#include <cstddef>

namespace weir {

class HttpExchange;

// The most requests of a batch, and commands of a pipeline.
inline constexpr std::size_t kJsonRequestsMax = 1000;
// Bytes of the results of a batch or a pipeline; the errors that replace further results are not
// counted.
inline constexpr std::size_t kJsonResultsBytesMax = std::size_t{4} * 1024 * 1024;

// Bytes of JSON that are read or written in about a microsecond.
inline constexpr std::size_t kJsonBytesPerUnit = 128;

// Returns whether the request has a body of JSON, and charges for reading it. If not, answers 411
// or 415.
[[nodiscard]] bool HasJsonBody(HttpExchange& exchange);

}  // namespace weir
