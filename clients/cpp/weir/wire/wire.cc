#include "weir/wire/wire.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "weir/core/causes.h"

namespace weir::client {
namespace {

// A thread that is in the system's resolver is left behind after that; it touches nothing of ours.
constexpr milliseconds kCloseTime{200};

bool IsMistake(const Answer& answer) {
  return answer.kind == Answer::Kind::kRefused && CauseOf(answer, /*has_succeeded=*/false).empty();
}

}  // namespace

Wire::Wire(const Settings& settings, std::size_t links_max, WhenFull when_full)
    : links_max_(links_max),
      when_full_(when_full),
      route_(settings),
      cancelled_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Wire::~Wire() { close(cancelled_); }

Answer Wire::Ask(const Words& words, milliseconds timeout, Afterwards afterwards) {
  const Clock::time_point end = Clock::now() + timeout;
  Connected taken = Take(end);
  if (!taken.link) return std::move(taken.answer);
  Answer answer = taken.link->Ask(words, {.end = end, .cancelled = cancelled_});
  Give(std::move(taken.link), answer, afterwards);
  return answer;
}

void Wire::Close() {
  Links closed;
  Lock lock(mutex_);
  is_closed_ = true;
  eventfd_write(cancelled_, 1);
  closed = BeginGeneration();
  changed_.notify_all();
  changed_.wait_for(lock, kCloseTime, [this] {
    return std::ranges::all_of(attempts_, [](const auto& attempt) { return attempt->is_done; });
  });
  EndAttempts();
  for (const auto& attempt : attempts_) attempt->thread.detach();
  attempts_.clear();
  lock.unlock();
}

void Wire::Abandon() {
  const Lock lock(mutex_, std::try_to_lock);  // a thread that is not in this process may have it
  if (lock.owns_lock()) idle_.clear();
}

Connected Wire::Take(Clock::time_point end) {
  Lock lock(mutex_);
  if (late_) return {.answer = *std::exchange(late_, std::nullopt)};
  std::shared_ptr<Attempt> attempt;
  Connected taken{.answer = Answer::Lost(kTimeout, "no connection by the deadline")};
  while (true) {
    if (std::optional<Connected> found = TryTake(attempt)) {
      taken = *std::move(found);
      break;
    }
    if (!attempt && open_ < links_max_) {
      attempt = StartAttempt(end);
    } else if (!attempt && when_full_ == WhenFull::kRefuse) {
      taken.answer = Answer::Lost(kBusy, "too many calls wait");
      break;
    }
    if (Clock::now() >= end) break;
    changed_.wait_until(lock, end);
  }
  if (attempt) Leave(attempt);
  changed_.notify_one();  // this call may have been woken for a Link that it leaves
  return taken;
}

std::optional<Connected> Wire::TryTake(const std::shared_ptr<Attempt>& attempt) {
  if (is_closed_) return Connected{.answer = Answer::Lost(kConnection, "the Limiter is closed")};
  if (attempt && attempt->failure) return Connected{.answer = *attempt->failure};
  std::unique_ptr<Link> link = attempt ? std::move(attempt->link) : nullptr;
  if (!link) link = QuietLink();
  if (!link) return {};
  return Connected{.link = std::move(link)};
}

std::unique_ptr<Link> Wire::QuietLink() {
  while (!idle_.empty()) {
    std::unique_ptr<Link> link = std::move(idle_.back());
    idle_.pop_back();
    if (link->is_quiet()) return link;
    --open_;
    changed_.notify_all();
  }
  return nullptr;
}

std::shared_ptr<Wire::Attempt> Wire::StartAttempt(Clock::time_point end) {
  EndAttempts();
  auto attempt = std::make_shared<Attempt>();
  try {
    attempt->thread =
        std::thread([self = shared_from_this(), attempt, end] { self->Connect(attempt, end); });
    attempts_.push_back(attempt);
    ++open_;
  } catch (const std::system_error& error) {
    attempt->failure = Answer::Lost(kConnection, error.what());
    changed_.notify_all();
  }
  return attempt;
}

void Wire::EndAttempts() {
  std::erase_if(attempts_, [](const auto& attempt) {
    if (attempt->is_done) attempt->thread.join();
    return attempt->is_done;
  });
}

void Wire::Connect(const std::shared_ptr<Attempt>& attempt, Clock::time_point end) {
  Connected connected =
      route_.Connect({.end = std::max(end, Clock::now() + kConnectTime), .cancelled = cancelled_});
  const Lock lock(mutex_);
  attempt->is_done = true;
  if (connected.link) {
    connected.link->generation = generation_;
    if (attempt->is_awaited) {
      attempt->link = std::move(connected.link);
    } else {
      Put(connected.link);
    }
  } else {
    --open_;
    route_.Forget();
    attempt->failure = connected.answer;
    if (!attempt->is_awaited && IsMistake(connected.answer)) {
      late_ = std::move(connected.answer);
    }
  }
  changed_.notify_all();
}

void Wire::Leave(const std::shared_ptr<Attempt>& attempt) {
  attempt->is_awaited = false;
  if (attempt->link) Put(attempt->link);
}

void Wire::Put(std::unique_ptr<Link>& link) {
  if (is_closed_ || link->generation != generation_) {
    --open_;
  } else {
    idle_.push_back(std::move(link));
  }
}

void Wire::Give(std::unique_ptr<Link> link, const Answer& answer, Afterwards afterwards) {
  const bool is_refused = answer.kind == Answer::Kind::kRefused;
  const bool is_lost = answer.kind == Answer::Kind::kLost;
  const bool leaves_server =
      (is_refused && LeavesServer(answer)) || (is_lost && answer.cause == kConnection);
  Links closed;
  Lock lock(mutex_);
  if (is_lost || (is_refused && LeavesConnection(answer)) || afterwards == Afterwards::kClose) {
    --open_;
  } else {
    Put(link);
  }
  if (leaves_server) closed = BeginGeneration();
  if (leaves_server || is_lost) route_.Forget();
  if (link || !closed.empty()) {
    changed_.notify_all();  // one alone may be a call that connects already, and has no use for it
  } else {
    changed_.notify_one();
  }
  lock.unlock();  // `link` and `closed` are closed after that
}

Wire::Links Wire::BeginGeneration() {
  ++generation_;
  open_ -= idle_.size();
  return std::exchange(idle_, {});
}

}  // namespace weir::client
