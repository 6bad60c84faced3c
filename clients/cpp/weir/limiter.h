// Limiter: asks weir, the rate-limit server, before an action runs.
//
//     weir::Limiter limiter("redis://app:secret@weir.internal:7379");
//     limiter.Verify({"app:start", "1/s"});    // throws if the address or the password is wrong
//     const weir::Decision decision = limiter.Allow({"user:42", "10/s", "1000/h"});
//     if (!decision) Tell(decision.retry_after);
//
// It connects at the first call, and again after an outage; at most 16 connections are open, and 16
// more for Wait(). A call takes its deadline at most (Options::deadline). Without an answer by then
// it is allowed or not, as Options::fail says: an outage never throws from a call that returns a
// Decision or an Outcome. A Mistake always does. A refused login (NOAUTH, WRONGPASS, NOPERM,
// DENIED) is a Mistake until the first success of this Limiter; after that it is the outage
// "login", as passwords are changed while services run. Requests are not sent twice, but those of
// holds, which have a deadline each time.
//
// A denial is kept: the same words are denied without a request for the time that it named, a
// second at most. So a key under attack costs a request a second.
//
// Thread-safe. In a child process after fork() its calls throw Mistake: the child makes its own.
// Its members cost one request and one
// reply, unless they say otherwise. It starts a thread while it connects, and one for each Lease
// and Slice. Linux.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "weir/counts.h"
#include "weir/decision.h"
#include "weir/errors.h"
#include "weir/hold.h"
#include "weir/lease.h"
#include "weir/limited.h"
#include "weir/options.h"
#include "weir/outcome.h"
#include "weir/reply.h"
#include "weir/slice.h"
#include "weir/words.h"

namespace weir {

namespace client {
class Engine;
}  // namespace client

// Whether a Decision has a row for each limit (WITHLIMITS), for Fields() or for a log.
enum class Details { kNo, kYes };

class Limiter {
 public:
  // Connects to nothing yet. Throws Mistake for a URL or options that are wrong, or for files of
  // TLS that cannot be read.
  explicit Limiter(const std::string& url);
  explicit Limiter(const Options& options);
  Limiter(Limiter&& other) noexcept = default;
  Limiter& operator=(Limiter&& other) = delete;
  Limiter(const Limiter&) = delete;
  Limiter& operator=(const Limiter&) = delete;
  ~Limiter();  // closes

  // Takes the tokens if all limits have them. No request if a denial of the words is kept.
  [[nodiscard]] Decision Allow(const Words& words, Details details = Details::kNo);

  // What Allow() would say; takes nothing.
  [[nodiscard]] Decision Peek(const Words& words, Details details = Details::kNo);

  // Charges what has been used already, whether it is there or not.
  Decision Charge(const Words& words, Details details = Details::kNo);

  // Gives tokens back.
  Decision Refund(const Words& words, Details details = Details::kNo);

  // Waits for the tokens, `timeout` (0 to a day) and a deadline at most. On a connection of its
  // own; while 16 calls wait, others are unavailable with the cause "busy".
  Decision Wait(std::chrono::milliseconds timeout, const Words& words,
                Details details = Details::kNo);

  // Wraps an action: it runs if it is allowed. `asked` are the words, or a function that makes
  // them from the arguments of the call. The wrapped action refers to this Limiter, and throws
  // Mistake.
  //
  //     auto mail = limiter.Limited(Mail, [](const std::string& to) {
  //       return weir::Words{"mail:" + to, "3/h", "AND", "mailer", "100/m"};
  //     });
  //     if (!mail("ann@example.org")) ...
  template <class Action, class Asked = Words>
  auto Limited(Action action, Asked asked);

  // Reserves for `ttl` (1 ms to a day): hold.h. The estimate is put where the words say cost={}.
  Outcome<Hold> Reserve(std::chrono::milliseconds ttl, const Words& words,
                        std::optional<std::int64_t> estimate = {});

  // Takes a slot for `ttl` (1 ms to a day), and renews it: lease.h.
  Outcome<weir::Lease> Lease(std::chrono::milliseconds ttl, const Words& words);

  // Up to `size` tokens at a time, each time for `time`: slice.h. Asks nothing yet. The limits must
  // not say cost=. Throws Mistake if the words are wrong, `size` is below 1, or
  // `time` is not 1 ms to a day.
  weir::Slice Slice(std::int64_t size, std::chrono::milliseconds time, const Words& words);

  // The reply to any command. Never fails open: throws Mistake or Unavailable. What a command that
  // is not RL.* does to its connection, such as AUTH or MULTI, ends with it: it is closed.
  Reply Command(const Words& words);

  // Connects, logs in and asks RL.PEEK, of your own words if a user may not ask for all keys.
  // Throws whatever is wrong, an outage too (Unavailable). Has a second, if the deadline is less.
  // Called when a service starts, it makes a wrong address loud.
  void Verify(const Words& words = {"weir:verify", "1/s"});

  [[nodiscard]] Counts counts() const;

  // Closes the connections, and ends the threads of leases and slices. Calls that run end at once,
  // and are unavailable ("connection"); later ones throw Mistake. May be called again.
  void Close();

  // The URL without the password.
  [[nodiscard]] std::string address() const;
  [[nodiscard]] Fail fail() const;
  [[nodiscard]] std::chrono::milliseconds deadline() const;

 private:
  // Why the words are not allowed, if they are not.
  std::optional<weir::Limited> Ask(const Words& words);

  std::shared_ptr<client::Engine> engine_;
};

// Its address and choices, for a log; no password.
std::ostream& operator<<(std::ostream& out, const Limiter& limiter);

template <class Action, class Asked>
auto Limiter::Limited(Action action, Asked asked) {
  return [this, action = std::move(action),
          asked = std::move(asked)]<class... Arguments>(Arguments&&... arguments) mutable {
    using Result = std::invoke_result_t<Action&, Arguments...>;
    std::optional<weir::Limited> limited;
    if constexpr (std::convertible_to<Asked, Words>) {
      limited = Ask(asked);
    } else {
      limited = Ask(std::invoke(asked, std::as_const(arguments)...));
    }
    if constexpr (std::is_void_v<Result>) {
      if (limited) return Outcome<void>(*std::move(limited));
      std::invoke(action, std::forward<Arguments>(arguments)...);
      return Outcome<void>();
    } else {
      using Value = std::remove_cvref_t<Result>;
      if (limited) return Outcome<Value>(*std::move(limited));
      return Outcome<Value>(std::invoke(action, std::forward<Arguments>(arguments)...));
    }
  };
}

}  // namespace weir
