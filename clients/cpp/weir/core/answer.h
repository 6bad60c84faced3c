// Answer: the outcome of one request on the wire: a reply, an error of the server, or no answer.
#pragma once

#include <string>
#include <string_view>

#include "weir/reply.h"

namespace weir::client {

struct Answer {
  enum class Kind { kReply, kRefused, kLost };

  static Answer Replied(Reply reply) { return {.kind = Kind::kReply, .reply = std::move(reply)}; }
  static Answer Refused(std::string text) {
    return {.kind = Kind::kRefused, .text = std::move(text)};
  }
  static Answer Lost(std::string_view cause, std::string text) {
    return {.kind = Kind::kLost, .cause = cause, .text = std::move(text)};
  }

  [[nodiscard]] bool is_reply() const { return kind == Kind::kReply; }

  Kind kind = Kind::kLost;
  Reply reply{};             // of kReply
  std::string_view cause{};  // of kLost: that of a Decision
  std::string text{};        // of kRefused: the whole error; of kLost: why
  bool is_login = false;     // of kRefused: it was the answer to AUTH
};

}  // namespace weir::client
