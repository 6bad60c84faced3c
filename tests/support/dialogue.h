// One client's dialogue with a server, in bytes or in the short form of the docs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "protocol/inline_words.h"
#include "tests/support/reply_text.h"
#include "tests/support/resp_value.h"

namespace weir {

class Dialogue {
 public:
  Dialogue() = default;
  virtual ~Dialogue() = default;
  Dialogue(const Dialogue&) = delete;
  Dialogue& operator=(const Dialogue&) = delete;

  // Delivers bytes; returns the server's answers so far. While a request waits for tokens (RL.WAIT)
  // there is no answer; input that is sent during the wait is answered after it.
  virtual std::string Send(std::string_view bytes) = 0;

  // Returns answers that no new input caused: the end of a wait, and the answers to input behind
  // it.
  std::string Receive() { return Send(""); }

  // Sends one request of these words, which may contain any bytes; returns the bytes of the reply.
  std::string Call(const std::vector<std::string>& words) { return Send(RespRequest(words)); }

  // Sends one request, written as in redis-cli: RL.ALLOW "user 42" 10/s
  std::string Run(std::string_view line) {
    std::vector<std::string_view> words;
    std::string unquoted;
    WEIR_CHECK(SplitInlineWords(line, 1024, words, unquoted).ok());
    return Send(RespRequest(words));
  }

  // The one reply, read.
  RespValue Ask(std::string_view line) {
    const auto replies = ReadRespValues(Run(line));
    WEIR_CHECK(replies.has_value());
    WEIR_CHECK(replies->size() == 1);
    return replies->front();
  }

  // The one reply, in the short form.
  std::string Show(std::string_view line) { return ReplyText(Ask(line)); }
};

}  // namespace weir
