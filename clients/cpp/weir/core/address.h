// Address: where weir is, and what else a URL says; options.h has the forms of URLs.
//
// The text of a Mistake never shows the URL, as it has the password.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/options.h"

namespace weir::client {

// A host and its port; or, with an empty host, the path of a Unix socket.
struct Place {
  std::string host;
  std::uint16_t port = 0;
  std::string path{};

  friend bool operator==(const Place&, const Place&) = default;
};

struct Address {
  std::vector<Place> places{};  // one; or those of Sentinels
  std::string master{};         // the name of the primary; empty: without Sentinel
  bool uses_tls = false;
  std::string ca{};  // path; empty: not said
  std::string username{};
  std::optional<std::string> password{};
  std::optional<std::chrono::milliseconds> deadline{};
  std::optional<Fail> fail{};

  [[nodiscard]] bool has_login() const { return !username.empty() || password; }
};

// "redis://app@h:7379": the URL without the password.
[[nodiscard]] std::string ToString(const Address& address);

// Throws Mistake, which says the part of the URL that is wrong.
[[nodiscard]] Address ParseUrl(std::string_view url);

// "host:port", "host", "[::1]:port". Throws Mistake.
[[nodiscard]] Place ParsePlace(std::string_view text, std::uint16_t default_port);

// Throws Mistake unless it is above 0 and an hour at most.
[[nodiscard]] std::chrono::milliseconds CheckDeadline(std::chrono::milliseconds deadline);

inline constexpr std::uint16_t kDefaultPort = 7379;
inline constexpr std::uint16_t kSentinelPort = 26379;

}  // namespace weir::client
