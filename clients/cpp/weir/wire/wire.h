// Wire: the connections of a Limiter, each of which asks for one call at a time.
//
//     call --> a Link that is idle ------------------------------> request, reply --> idle again
//          \-> a thread that connects ----------------> a Link -/
//
// A call takes its timeout at most. Connecting takes as long, or a second if that is more, so that
// a slow connection is there for a later call. A login that is refused by then is a mistake, which
// the next call throws.
// Once a connection was lost, or its server is no longer the primary, a new generation begins:
// Links of earlier ones are closed when they come back.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "weir/core/answer.h"
#include "weir/core/settings.h"
#include "weir/wire/link.h"
#include "weir/wire/route.h"
#include "weir/words.h"

namespace weir::client {

// The way of a call when all connections are in use: it waits, or is unavailable as "busy".
enum class WhenFull { kQueue, kRefuse };

// Whether the connection serves other calls afterwards.
enum class Afterwards { kKeep, kClose };

// Thread-safe. Made by std::make_shared.
class Wire : public std::enable_shared_from_this<Wire> {
 public:
  // Throws Mistake for files of TLS that cannot be read.
  Wire(const Settings& settings, std::size_t links_max, WhenFull when_full);
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire();

  // Sends the words once. The answer is lost if it is closed before or meanwhile.
  [[nodiscard]] Answer Ask(const Words& words, milliseconds timeout,
                           Afterwards afterwards = Afterwards::kKeep);

  // Closes what is idle, and ends what connects and the calls that run. May be called again.
  void Close();

  // Closes the descriptors of what is idle, and nothing else: the connections are another
  // process's.
  void Abandon();

 private:
  // A thread that connects for a call. Guarded by mutex_.
  struct Attempt {
    std::thread thread{};
    bool is_done = false;  // the thread has only to end
    std::unique_ptr<Link> link{};
    std::optional<Answer> failure{};
    bool is_awaited = true;
  };
  using Links = std::vector<std::unique_ptr<Link>>;
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] Connected Take(Clock::time_point end);
  [[nodiscard]] std::optional<Connected> TryTake(const std::shared_ptr<Attempt>& attempt);
  [[nodiscard]] std::unique_ptr<Link> QuietLink();
  [[nodiscard]] std::shared_ptr<Attempt> StartAttempt(Clock::time_point end);

  // Joins the threads that are done.
  void EndAttempts();

  void Connect(const std::shared_ptr<Attempt>& attempt, Clock::time_point end);
  void Leave(const std::shared_ptr<Attempt>& attempt);

  // Puts a Link back, or counts it as closed; then `link` is still set.
  void Put(std::unique_ptr<Link>& link);
  void Give(std::unique_ptr<Link> link, const Answer& answer, Afterwards afterwards);

  // Begins the next generation. Returns the idle Links, to be closed without the lock.
  [[nodiscard]] Links BeginGeneration();

  const std::size_t links_max_;
  const WhenFull when_full_;
  Route route_;
  const int cancelled_;  // an eventfd, readable once it is closed

  std::mutex mutex_;
  std::condition_variable changed_;
  // All below are guarded by mutex_.
  Links idle_;            // the last one used is the first to be used
  std::size_t open_ = 0;  // Links, idle, in use, or about to be open
  std::vector<std::shared_ptr<Attempt>> attempts_;
  std::uint64_t generation_ = 0;
  bool is_closed_ = false;
  std::optional<Answer> late_;  // what a login was told when its call had ended
};

}  // namespace weir::client
