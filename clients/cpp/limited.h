// A wrapper that asks weir before an action and runs it, or says when it would be allowed. For
// hiredis.
//
//     Gate gate({.port = 7379, .when_down = WhenDown::kOpen});
//
//     auto greet = gate.Limited(SayHello, {"greetings", "10/s", "1000/h"});  // words of RL.ALLOW
//     if (!greet("ann")) ...                     // false or unset: SayHello has not been called
//
//     auto mail = gate.Limited(                  // words from the arguments
//         SendMail, [](const std::string& to) {
//           return Words{"mail:" + to, "3/h", "AND", "mailer", "100/m"};
//         });
//
//     if (const Answer answer = gate.Ask({"user:42", "10/s"}); answer.retry_after) ...
//
// weir has 50 ms to answer: half to connect, if there is no connection, and half to reply. If it
// does not answer, or answers that it cannot limit (IsAway below), the action is run (kOpen) or not
// (kClosed), and the next call connects again. Nothing is sent twice: a request whose reply was
// lost may have been charged, and a second one would be charged again. Only holds, which have an
// id, are sent twice: hold.h and lease.h.
//
// A denial holds for the time that it names, so the same words are not asked again during that
// time, for a second at most: a key under attack costs one request per second.
//
// A mistake in the request is not an outage: a limited action throws Mistake, and Ask returns the
// error.
//
// Threads can share a Gate. hiredis may write to a connection that has been closed,
// so the program must ignore SIGPIPE: signal(SIGPIPE, SIG_IGN).
#pragma once

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
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
using std::chrono::steady_clock;

// The words of RL.ALLOW: a key and its limits, then perhaps AND, a key, its limits.
using Words = std::vector<std::string>;

enum class WhenDown { kOpen, kClosed };

// Calls a function again and again. Returns a function that ends that, and is called once.
using Every = std::function<std::function<void()>(milliseconds period, std::function<void()> call)>;

struct GateOptions {
  std::string host = "127.0.0.1";
  int port = 7379;
  WhenDown when_down = WhenDown::kOpen;
  milliseconds deadline{50};
  std::function<steady_clock::time_point()> now = steady_clock::now;
  Every every{};  // the heartbeat of leases, replaced in tests; unset: a thread of each lease
};

struct Answer {
  bool passes = false;
  std::optional<milliseconds> retry_after{};  // for a denial; unset: never
  bool answered = false;                      // false: `passes` follows GateOptions::when_down
  std::string key{};                          // for a denial, the key whose limit decided
  std::string error{};                        // weir's error about the request
  std::int64_t granted = 0;                   // tokens
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

// The groups of a request: a key, its limits and its cost.
inline std::vector<Words> SplitAtAnd(const Words& words) {
  const auto is_and = [](const std::string& word) {
    return std::ranges::equal(word, std::string_view("AND"), {},
                              [](unsigned char c) { return std::toupper(c); });
  };
  std::vector<Words> groups(1);
  for (const std::string& word : words) {
    if (!groups.back().empty() && is_and(word)) {
      groups.emplace_back();
    } else {
      groups.back().push_back(word);
    }
  }
  return groups;
}

// The words of a request.
inline Words JoinWithAnd(const std::vector<Words>& groups) {
  Words words;
  for (const Words& group : groups) {
    if (!words.empty()) words.emplace_back("AND");
    words.insert(words.end(), group.begin(), group.end());
  }
  return words;
}

// Asks one server, with as many connections as there are requests at a time.
class Gate {
 public:
  explicit Gate(GateOptions options) : options_(std::move(options)) {}

  // Takes a token from each limit, or from none.
  Answer Ask(const Words& words) { return Request("RL.ALLOW", words, {}); }

  // Returns a function that asks weir and then calls `action`. It returns the action's result as an
  // optional, unset if the action was not called; for an action that returns nothing, whether it
  // was called. `words_of` makes the words from the action's arguments.
  // Requires: the Gate outlives the function.
  template <typename Action, typename WordsOf>
  requires(!std::convertible_to<WordsOf, Words>) auto Limited(Action action, WordsOf words_of) {
    return [this, action = std::move(action),
            words_of = std::move(words_of)](auto&&... arguments) mutable {
      using Result = std::invoke_result_t<Action&, decltype(arguments)...>;
      const Answer answer = Ask(words_of(arguments...));
      if (!answer.error.empty()) throw Mistake(answer.error);
      if constexpr (std::is_void_v<Result>) {
        if (answer.passes) action(std::forward<decltype(arguments)>(arguments)...);
        return answer.passes;
      } else {
        if (!answer.passes) return std::optional<Result>();
        return std::optional<Result>(action(std::forward<decltype(arguments)>(arguments)...));
      }
    };
  }
  template <typename Action>
  auto Limited(Action action, Words words) {
    return Limited(std::move(action), [words = std::move(words)](auto&&...) { return words; });
  }

 private:
  friend class Hold;
  friend class Lease;
  friend class Slice;

  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  using Context = std::unique_ptr<redisContext, Free>;
  using Reply = std::unique_ptr<redisReply, Free>;

  struct Denial {
    std::string key;
    steady_clock::time_point kept_until;
    std::optional<steady_clock::time_point> retry_at;  // unset: never
  };

  static constexpr milliseconds kDenialTime{1000};  // the longest that a denial is kept
  static constexpr std::size_t kDenialsMax = 10'000;
  static constexpr std::size_t kIdleMax = 16;  // connections that are kept

  // Sends a command that grants tokens, unless its words are known to be denied.
  Answer Request(const char* command, const Words& words, const Words& options) {
    const auto now = options_.now();
    if (const std::optional<Denial> denial = KnownDenial(words, now)) return ToAnswer(*denial, now);
    Answer answer = Decide(command, words, options, 1);
    if (!answer.answered) return NoAnswer(words);
    if (!answer.passes && answer.error.empty()) Keep(words, now, answer);
    return answer;
  }

  // Sends a command that grants tokens, again if its reply is lost, up to `tries` times. Keeps no
  // denial.
  Answer Decide(const char* command, const Words& words, const Words& options, int tries) {
    const std::vector<Words> groups = SplitAtAnd(words);
    Words request = {command};
    request.insert(request.end(), words.begin(), words.end());
    request.insert(request.end(), options.begin(), options.end());
    if (groups.size() > 1) request.emplace_back("WITHLIMITS");  // says which key was denied
    const Reply reply = Call(request, tries);
    if (!reply) return {};
    if (reply->type == REDIS_REPLY_ERROR) {
      return {.answered = true, .error = std::string(reply->str, reply->len)};
    }
    if (const auto granted = reply->element[0]->integer; granted > 0) {
      return {.passes = true, .answered = true, .granted = granted};
    }
    const std::optional<std::size_t> group = GroupOf(*reply);
    if (!group) return {.answered = true, .error = "AND needs weir 0.2 or later"};
    Answer denial{.answered = true, .key = groups.at(*group).front()};
    if (const milliseconds retry_after{reply->element[2]->integer}; retry_after.count() >= 0) {
      denial.retry_after = retry_after;
    }
    return denial;
  }

  // Returns an array or an error about the request, null if weir does not answer.
  Reply Call(const Words& request, int tries) {
    Reply reply = Send(request);
    for (; !reply && tries > 1; --tries) reply = Send(request);
    if (!reply) return nullptr;
    if (reply->type == REDIS_REPLY_ERROR) {
      return IsAway(std::string_view(reply->str, reply->len)) ? nullptr : std::move(reply);
    }
    return reply->type == REDIS_REPLY_ARRAY && reply->elements >= 5 ? std::move(reply) : nullptr;
  }

  // The group of the limit that decided: the first without WITHLIMITS, else that of its row. Unset
  // if the row has none.
  static std::optional<std::size_t> GroupOf(const redisReply& reply) {
    if (reply.elements < 6) return 0;
    const redisReply& row = *reply.element[5]->element[reply.element[4]->integer];
    if (row.elements < 7) return std::nullopt;
    return row.element[6]->integer;
  }

  [[nodiscard]] Answer NoAnswer(const Words& words) const {
    return {.passes = options_.when_down == WhenDown::kOpen, .key = words.front()};
  }

  static Answer ToAnswer(const Denial& denial, steady_clock::time_point now) {
    Answer answer{.answered = true, .key = denial.key};
    if (denial.retry_at) {
      answer.retry_after = std::chrono::ceil<milliseconds>(*denial.retry_at - now);
    }
    return answer;
  }

  std::optional<Denial> KnownDenial(const Words& words, steady_clock::time_point now) {
    const std::lock_guard lock(mutex_);
    const auto found = denials_.find(words);
    if (found == denials_.end() || now >= found->second.kept_until) return std::nullopt;
    return found->second;
  }

  void Keep(const Words& words, steady_clock::time_point now, const Answer& denied) {
    Denial denial{denied.key, now + kDenialTime, {}};
    if (denied.retry_after) {
      denial.retry_at = now + *denied.retry_after;
      denial.kept_until = std::min(denial.kept_until, *denial.retry_at);
    }
    const std::lock_guard lock(mutex_);
    if (denials_.size() >= kDenialsMax) denials_.clear();
    denials_.insert_or_assign(words, denial);
  }

  // Gives tokens back. A refund that fails is not repeated: it may have been made. Without it the
  // tokens come back in time.
  void Refund(const Words& words, std::int64_t tokens) {
    std::vector<Words> groups = SplitAtAnd(words);
    for (Words& group : groups) group.insert(group.end(), {"COST", std::to_string(tokens)});
    groups.front().insert(groups.front().begin(), "RL.REFUND");
    Send(JoinWithAnd(groups));
  }

  // Returns null if weir does not answer.
  Reply Send(const Words& words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    Context context = IdleContext();
    if (!context) context = NewContext();
    if (!context) return nullptr;
    Reply reply(static_cast<redisReply*>(redisCommandArgv(
        context.get(), static_cast<int>(texts.size()), texts.data(), sizes.data())));
    // Without a reply the context is freed: a late one would be taken for that of another request.
    const std::lock_guard lock(mutex_);
    if (reply && idle_.size() < kIdleMax) idle_.push_back(std::move(context));
    return reply;
  }

  // Returns a connection that the server has not closed, null if there is none.
  Context IdleContext() {
    const std::lock_guard lock(mutex_);
    while (!idle_.empty()) {
      Context context = std::move(idle_.back());
      idle_.pop_back();
      char byte = 0;
      const auto got = recv(context->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return context;
    }
    return nullptr;
  }

  [[nodiscard]] Context NewContext() const {
    const auto half = std::chrono::microseconds(options_.deadline) / 2;
    const timeval wait{.tv_sec = half.count() / 1'000'000, .tv_usec = half.count() % 1'000'000};
    Context context(redisConnectWithTimeout(options_.host.c_str(), options_.port, wait));
    if (context && (context->err != 0 || redisSetTimeout(context.get(), wait) != REDIS_OK)) {
      context.reset();
    }
    return context;
  }

  const GateOptions options_;
  std::mutex mutex_;  // guards the fields below
  std::vector<Context> idle_;
  std::map<Words, Denial> denials_;
};

}  // namespace weir::example
