// A wrapper that asks weir before an action and runs it, or says when it would be allowed. For
// hiredis.
//
//     Gate gate({.port = 7379, .when_down = WhenDown::kOpen});
//
//     auto greet = gate.Limited(SayHello, "greetings", {"10/s", "1000/h"});
//     if (!greet("ann")) ...                     // false or unset: SayHello has not been called
//
//     auto mail = gate.Limited(                  // a key from the arguments
//         SendMail, [](const std::string& to) { return "mail:" + to; }, {"3/h"});
//
//     if (const Answer answer = gate.Ask("user:42", {"10/s"}); answer.retry_after) ...
//
// weir has 50 ms to answer: half to connect, if there is no connection, and half to reply. If it
// does not answer, or answers that it cannot limit (IsAway below), the action is run (kOpen) or not
// (kClosed), and the next call connects again. Nothing is sent twice: a request whose reply was
// lost may have been charged, and a second one would be charged again.
//
// A mistake in the request is not an outage: a limited action throws Mistake, and Ask returns the
// error.
//
// A Gate has one connection: give each thread its own Gate. hiredis may write to a connection that
// has been closed, so the program must ignore SIGPIPE: signal(SIGPIPE, SIG_IGN).
#pragma once

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <hiredis/hiredis.h>

namespace weir::example {

using std::chrono::milliseconds;

enum class WhenDown { kOpen, kClosed };

struct GateOptions {
  std::string host = "127.0.0.1";
  int port = 7379;
  WhenDown when_down = WhenDown::kOpen;
  milliseconds deadline{50};
};

struct Answer {
  bool passes = false;
  std::optional<milliseconds> retry_after{};  // for a denial; unset: never
  bool answered = false;                      // false: `passes` follows GateOptions::when_down
  std::string error{};                        // weir's error about the request
};

// Thrown for a mistake in the request, with weir's error.
struct Mistake : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// True for an error of a server that runs but cannot limit.
inline bool IsAway(std::string_view error) {
  constexpr std::array<std::string_view, 11> kAway = {"LOADING ",
                                                      "MISCONF ",
                                                      "READONLY ",
                                                      "NOREPLICAS ",
                                                      "NOACK ",
                                                      "MASTERDOWN ",
                                                      "CLUSTERDOWN ",
                                                      "BUSY ",
                                                      "OOM ",
                                                      "NOAUTH ",
                                                      "ERR max number of clients reached"};
  return std::ranges::any_of(kAway, [&](auto away) { return error.starts_with(away); });
}

class Gate {
 public:
  explicit Gate(GateOptions options) : options_(std::move(options)) {}

  // Takes a token from each limit, or from none.
  Answer Ask(const std::string& key, const std::vector<std::string>& limits) {
    std::vector<const char*> words = {"RL.ALLOW", key.data()};
    std::vector<std::size_t> sizes = {8, key.size()};
    for (const std::string& limit : limits) {
      words.push_back(limit.data());
      sizes.push_back(limit.size());
    }
    if (!Connect()) return NoAnswer();
    const Reply reply(static_cast<redisReply*>(redisCommandArgv(
        context_.get(), static_cast<int>(words.size()), words.data(), sizes.data())));
    if (!reply) {
      context_.reset();  // so that a late reply is never taken for that of another request
      return NoAnswer();
    }
    if (reply->type == REDIS_REPLY_ERROR) {
      std::string error(reply->str, reply->len);
      if (IsAway(error)) return NoAnswer();
      return {.answered = true, .error = std::move(error)};
    }
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 3) return NoAnswer();
    Answer answer{.passes = reply->element[0]->integer == 1, .answered = true};
    const auto retry_after_ms = reply->element[2]->integer;
    if (!answer.passes && retry_after_ms >= 0) answer.retry_after = milliseconds{retry_after_ms};
    return answer;
  }

  // Returns a function that asks weir and then calls `action`. It returns the action's result as an
  // optional, unset if the action was not called; for an action that returns nothing, whether it
  // was called. `key` is a string, or a function that makes one from the action's arguments.
  // Requires: the Gate outlives the function.
  template <typename Action, typename Key>
  auto Limited(Action action, Key key, std::vector<std::string> limits) {
    return [this, action = std::move(action), key = std::move(key),
            limits = std::move(limits)](auto&&... arguments) mutable {
      using Result = std::invoke_result_t<Action&, decltype(arguments)...>;
      const Answer answer = Ask(KeyOf(key, arguments...), limits);
      if (!answer.error.empty()) throw Mistake(answer.error);
      const bool passes = answer.passes;
      if constexpr (std::is_void_v<Result>) {
        if (passes) action(std::forward<decltype(arguments)>(arguments)...);
        return passes;
      } else {
        if (!passes) return std::optional<Result>();
        return std::optional<Result>(action(std::forward<decltype(arguments)>(arguments)...));
      }
    };
  }

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  using Reply = std::unique_ptr<redisReply, Free>;

  template <typename Key, typename... Arguments>
  static std::string KeyOf(const Key& key, const Arguments&... arguments) {
    if constexpr (std::convertible_to<const Key&, std::string>) {
      return key;
    } else {
      return key(arguments...);
    }
  }

  [[nodiscard]] Answer NoAnswer() const {
    return {.passes = options_.when_down == WhenDown::kOpen};
  }

  // Returns true if there is a connection. One that the server has closed is replaced before
  // anything is sent on it.
  bool Connect() {
    if (context_) {
      char byte = 0;
      const auto got = recv(context_->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
      context_.reset();
    }
    const auto half = std::chrono::microseconds(options_.deadline) / 2;
    const timeval wait{.tv_sec = half.count() / 1'000'000, .tv_usec = half.count() % 1'000'000};
    context_.reset(redisConnectWithTimeout(options_.host.c_str(), options_.port, wait));
    if (context_ && (context_->err != 0 || redisSetTimeout(context_.get(), wait) != REDIS_OK)) {
      context_.reset();
    }
    return context_ != nullptr;
  }

  GateOptions options_;
  std::unique_ptr<redisContext, Free> context_;
};

}  // namespace weir::example
