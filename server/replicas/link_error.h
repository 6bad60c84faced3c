// The reasons why a link to a primary ends, as errors: a text for the log, and a kind to decide by.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace weir {

enum class LinkErrorKind : std::uint8_t {
  kBroken,         // there is no connection, or it was closed
  kTimeout,        // the peer does not answer in time
  kStrange,        // the peer does not speak as weir does
  kNeedsPassword,  // the peer answers NOAUTH
  kReferral,       // the peer is a replica, and names its primary
  kOtherGroup,     // the peer hashes keys with another secret, and has a state of its own
  kRefused,        // the peer answers any other error
};

// `text`: the reason, as the log gives it: "timed out".
[[nodiscard]] absl::Status LinkError(LinkErrorKind kind, std::string_view text);
// The error that a peer answers, without its "-". Its first word gives the kind.
[[nodiscard]] absl::Status RefusedByPeer(std::string_view error);

// The kind of an error that one of these two functions made; kBroken for any other error.
[[nodiscard]] LinkErrorKind KindOf(const absl::Status& error);
// The error that the peer has answered; empty if the error arose at this end.
[[nodiscard]] std::string_view AnswerOf(const absl::Status& error);

}  // namespace weir
