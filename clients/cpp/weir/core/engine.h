// Engine: the calls of a Limiter, and its memory: what it counts, and the denials that it keeps.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weir/core/counters.h"
#include "weir/core/denials.h"
#include "weir/core/request.h"
#include "weir/core/settings.h"
#include "weir/decision.h"
#include "weir/limited.h"
#include "weir/reply.h"
#include "weir/words.h"

namespace weir::client {

class Timers;
class Wire;

// A hold has an id, so that a request whose reply is lost may be sent again.
inline constexpr int kHoldTries = 2;

// The command whose reply ReadSlice reads. A server that does not know it is no mistake of the
// program.
inline constexpr std::string_view kSliceCommand = "RL.SLICE";

// How a request is sent.
struct Sending {
  int tries = 1;                          // the most; another if the reply is lost
  std::optional<milliseconds> timeout{};  // of each try; unset: the deadline
  bool apart = false;                     // on a connection for replies that take long
  bool keeps_connection = true;           // false: it is closed, as the words may have changed it
};

// A decision to be asked: a command and the words that follow it.
struct Question {
  std::string_view command;
  Words words;
  Words options{};  // behind the words
  bool with_rows = false;
  Sending sending{};
};

// A reply, or the cause of an outage.
struct CallResult {
  std::optional<Reply> reply{};
  std::string_view cause{};
  std::string text{};
};

// Thread-safe. Its calls throw Mistake; they say so only if they throw more.
class Engine {
 public:
  explicit Engine(const Settings& settings);
  ~Engine();

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] Clock::time_point Now() const { return settings_.clock(); }
  [[nodiscard]] Counters& counters() { return counters_; }

  // The Request of these words; counts a mistake in them.
  Request ReadRequest(const Words& words);

  // The time, if it is from `min` to a day, which is the server's most. Else counts a mistake and
  // throws it.
  milliseconds CheckTime(const std::string& what, milliseconds time, milliseconds min);

  // The Decision, without a request if a denial of the same words is kept.
  Decision DecideOrKeep(const Request& request, Question question);

  // The Decision, which is unavailable if there is no answer.
  Decision Decide(const Request& request, Question question);

  // Tells the outage. The Decision that the Limiter is to take.
  Decision WithoutAnswer(std::string_view cause);

  CallResult Call(const Words& words, const Sending& sending = {});

  // Calls the function again and again. Returns a function that ends that. If there can be no more
  // threads, it calls nothing: a lease then ends, and a slice is settled when it is asked.
  [[nodiscard]] std::function<void()> StartTimer(milliseconds period,
                                                 std::function<void()> function);

  // Ends the timers, and the calls that run, which are unavailable then; later ones throw Mistake.
  void Close();

 private:
  // Throws Mistake once it is closed, or in a child of the process that made it.
  void CheckUsable() const;

  [[nodiscard]] bool is_in_child() const;

  const Settings settings_;
  Counters counters_;
  Denials denials_;
  const pid_t process_;
  std::atomic<bool> is_closed_ = false;
  std::atomic<bool> has_succeeded_ = false;
  const std::shared_ptr<Wire> wire_;
  const std::shared_ptr<Wire> waits_;
  const std::shared_ptr<Timers> timers_;
};

// Why a call is not allowed. Requires: !decision.allowed.
[[nodiscard]] Limited LimitedBy(const Decision& decision, const Request& request);

// 32 random digits of base 16: the id of a hold.
[[nodiscard]] std::string RandomId();

}  // namespace weir::client
