// The key in the URL, the guard of changes, and parts of the answers: for the handlers of the live
// page.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/instant.h"
#include "core/policies/policy.h"
#include "core/rules/top_keys.h"
#include "protocol/json_writer.h"

namespace weir {

class HttpExchange;
struct Services;

// The reason for which the client may change nothing here, or an empty text. A change needs a user
// of the users file: without users, anything that reaches the port would act as the one there is.
[[nodiscard]] std::string_view ReadOnlyReason(const HttpExchange& exchange);

// Returns true if the request may change something, as far as its user may. Such a request comes
// from the page: a page of another site can send X-Weir only after the browser has asked us, which
// no answer here allows, and cannot choose Sec-Fetch-Site. Otherwise answers 403.
[[nodiscard]] bool MayChange(HttpExchange& exchange);

// Runs a command that changes something, and answers {"ok":true}, or its error.
void RunChange(HttpExchange& exchange, std::span<const std::string_view> words);

// The key in the query "k=user%3A42", decoded; nothing after answering 400.
[[nodiscard]] std::optional<std::string> ReadKey(HttpExchange& exchange);

// A key of which a list has only the first bytes (TopKeys::Row::is_cut), in a URL: 32 hexadecimal
// digits, which tell nothing about its place in the table.
[[nodiscard]] std::string MarkOfCutKey(const TopKeys::Row& row, const Services& services);

// An instant of the server's clock as Unix time in milliseconds, as the wall clock has it.
[[nodiscard]] std::int64_t UnixMillis(const Services& services, Instant instant);

// Appends "key":"user:42","k":"user%3A42": the key as text, with U+FFFD in the place of bytes that
// are not UTF-8, and its bytes as a URL needs them.
void AppendKey(std::string_view key, JsonWriter json);

// Appends "limits":["10/s","1000/h"].
void AppendLimits(const PolicyLimits& limits, JsonWriter json);

}  // namespace weir
