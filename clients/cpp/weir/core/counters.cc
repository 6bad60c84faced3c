#include "weir/core/counters.h"

#include <iostream>
#include <sstream>
#include <string>

namespace weir::client {
namespace {

constexpr auto kBetweenLines = std::chrono::minutes(1);

}  // namespace

Counters::Counters(const Settings& settings)
    : on_unavailable_(settings.on_unavailable), fails_open_(settings.fail == Fail::kOpen) {}

void Counters::AddDecision(const Decision& decision) {
  const std::lock_guard lock(mutex_);
  ++counts_.asked;
  ++(decision.allowed ? counts_.allowed : counts_.denied);
}

void Counters::AddKept() {
  const std::lock_guard lock(mutex_);
  ++counts_.kept;
}

void Counters::AddMistake(bool is_asked) {
  const std::lock_guard lock(mutex_);
  if (is_asked) ++counts_.asked;
  ++counts_.mistakes;
}

void Counters::AddUnavailable(std::string_view cause, Clock::time_point now) {
  {
    const std::lock_guard lock(mutex_);
    ++counts_.asked;
    ++counts_.unavailable[std::string(cause)];
  }
  if (!on_unavailable_) {
    WriteLog(cause, now);
    return;
  }
  try {
    on_unavailable_(cause);
  } catch (...) {
    AddMistake();
  }
}

Counts Counters::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void Counters::WriteLog(std::string_view cause, Clock::time_point now) {
  std::ostringstream line;
  {
    const std::lock_guard lock(mutex_);
    ++since_line_;
    if (next_line_ && now < *next_line_) return;
    line << "weir is unavailable (" << cause << "): calls are "
         << (fails_open_ ? "allowed" : "not allowed") << "; " << since_line_
         << " since the last line\n";
    since_line_ = 0;
    next_line_ = now + kBetweenLines;
  }
  std::cerr << line.str() << std::flush;
}

}  // namespace weir::client
