// The number of objects that protobuf would make of a RateLimitConfig, counted before it makes any.
// protobuf has no bound of its own: a message takes two bytes on the wire, and some 100 as an
// object.
//
//     const std::optional<std::size_t> messages = CountMessages(bytes, most);
//     if (!messages || *messages > most) return Refuse();
//     xds::RateLimitConfig config;
//     config.ParseFromString(bytes);
//
// Pure; thread-safe. Tested by message_count_test.cc and xds_response_fuzz.cc.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace weir {

// Returns how many messages a parse of `config` makes at most, the RateLimitConfig included, and
// `most` + 1 for all numbers above `most`. Unset if the parse would fail: a message that ends
// behind the one around it would be read to the end of the bytes before it does. Cost: linear,
// without memory. Requires: at most 2^31 - 1 bytes.
[[nodiscard]] std::optional<std::size_t> CountMessages(std::string_view config, std::size_t most);

}  // namespace weir
