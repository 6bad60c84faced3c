// The statuses of HTTP that weir answers with, and their words (RFC 9110). Pure.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace weir {

inline constexpr int kHttpBadRequest = 400;
inline constexpr int kHttpContentTooLarge = 413;
inline constexpr int kHttpUriTooLong = 414;
inline constexpr int kHttpExpectationFailed = 417;
inline constexpr int kHttpFieldsTooLarge = 431;
inline constexpr int kHttpNotImplemented = 501;
inline constexpr int kHttpVersionNotSupported = 505;

struct HttpReason {
  int status;
  std::string_view phrase;
};

inline constexpr HttpReason kHttpReasons[] = {
    {200, "OK"},
    {204, "No Content"},
    {304, "Not Modified"},
    {kHttpBadRequest, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {411, "Length Required"},
    {kHttpContentTooLarge, "Content Too Large"},
    {kHttpUriTooLong, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {kHttpExpectationFailed, "Expectation Failed"},
    {421, "Misdirected Request"},
    {429, "Too Many Requests"},
    {kHttpFieldsTooLarge, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {kHttpNotImplemented, "Not Implemented"},
    {503, "Service Unavailable"},
    {kHttpVersionNotSupported, "HTTP Version Not Supported"},
};
static_assert(std::ranges::is_sorted(kHttpReasons, {}, &HttpReason::status));

// The words for a status: "Too Many Requests"; empty for one that is not in the table, which is as
// valid in a status line.
[[nodiscard]] constexpr std::string_view ReasonPhrase(int status) noexcept {
  const auto* const found = std::ranges::lower_bound(kHttpReasons, status, {}, &HttpReason::status);
  return found != std::end(kHttpReasons) && found->status == status ? found->phrase : "";
}

}  // namespace weir
