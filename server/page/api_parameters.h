// The parameters of a path under /api: each may be given once, and no others.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

class HttpExchange;

struct ApiParameter {
  std::string_view name;
  std::optional<std::string>& value;  // decoded
};

// Reads the query. Returns false after answering 400: the query has another parameter, one of them
// twice, or one that is not encoded as a URL needs it.
[[nodiscard]] bool ReadApiParameters(HttpExchange& exchange,
                                     std::initializer_list<ApiParameter> parameters);

// Returns the number in a parameter, or `otherwise` if it is not given, or nothing after answering
// 400.
[[nodiscard]] std::optional<std::int64_t> ReadNumberParameter(
    HttpExchange& exchange, std::string_view name, const std::optional<std::string>& value,
    std::int64_t otherwise, std::int64_t min, std::int64_t max);

}  // namespace weir
