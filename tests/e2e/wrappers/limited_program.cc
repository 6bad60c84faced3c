// Calls clients/cpp as the lines of its standard input say (limited_test.py).
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "clients/cpp/hold.h"
#include "clients/cpp/lease.h"
#include "clients/cpp/limited.h"
#include "clients/cpp/slice.h"

namespace weir::example {
namespace {

std::int64_t Number(const std::string& word) {
  std::int64_t number = 0;
  std::istringstream(word) >> number;
  return number;
}

std::string Said(const Answer& answer) {
  if (!answer.error.empty()) return "mistake " + answer.error;
  if (answer.passes) return "passes";
  const std::string wait =
      answer.retry_after ? std::to_string(answer.retry_after->count()) : std::string("-");
  return "limited " + answer.key + " " + wait;
}

std::string Settled(bool is_settled) { return is_settled ? "settled" : "not settled"; }

// A clock that stands still, and the heartbeats that are due when it is moved.
class Clock {
 public:
  steady_clock::time_point Now() {
    return steady_clock::time_point(milliseconds(ms_.fetch_add(late_ms_.exchange(0))));
  }

  // The next reading moves the clock, as if what is done after it took a while.
  void Delay(std::int64_t ms) { late_ms_ = ms; }

  std::function<void()> Every(milliseconds period, std::function<void()> call) {
    const auto beat =
        std::make_shared<Beat>(Beat{ms_ + period.count(), period.count(), std::move(call)});
    beats_.push_back(beat);
    return [this, beat] { std::erase(beats_, beat); };
  }

  [[nodiscard]] std::size_t beats() const { return beats_.size(); }

  void Move(std::int64_t ms) {
    const std::int64_t end = ms_ + ms;
    while (const std::shared_ptr<Beat> beat = NextBeat(end)) {
      ms_ = std::max<std::int64_t>(ms_, beat->due);
      beat->due += beat->period;
      beat->call();
    }
    ms_ = std::max<std::int64_t>(ms_, end);
  }

 private:
  struct Beat {
    std::int64_t due;
    std::int64_t period;
    std::function<void()> call;
  };

  // Null if none is due by then.
  [[nodiscard]] std::shared_ptr<Beat> NextBeat(std::int64_t end) const {
    const auto next =
        std::ranges::min_element(beats_, {}, [](const auto& beat) { return beat->due; });
    return next == beats_.end() || (*next)->due > end ? nullptr : *next;
  }

  std::atomic<std::int64_t> ms_ = 0;
  std::atomic<std::int64_t> late_ms_ = 0;
  std::vector<std::shared_ptr<Beat>> beats_;
};

class Program {
 public:
  // `words`: a call and its arguments. Returns what the call says.
  std::string Run(const Words& words) {
    try {
      return calls_.at(words[0])({words.begin() + 1, words.end()});
    } catch (const Mistake& mistake) {
      return std::string("mistake ") + mistake.what();
    }
  }

 private:
  std::string Open(const Words& words) {
    slice_.reset();
    hold_.reset();
    lease_.reset();
    clock_ = std::make_unique<Clock>();
    GateOptions options{.port = static_cast<int>(Number(words[0])),
                        .when_down = words[1] == "open" ? WhenDown::kOpen : WhenDown::kClosed,
                        .now = [clock = clock_.get()] { return clock->Now(); }};
    if (words[2] != "0") options.deadline = milliseconds(Number(words[2]));
    if (words.size() < 4) {
      options.every = [clock = clock_.get()](milliseconds period, std::function<void()> call) {
        return clock->Every(period, std::move(call));
      };
    }
    gate_.emplace(options);
    return "ok";
  }

  std::string Mail(const Words& words) {
    const Words limits(words.begin() + 1, words.end());
    auto mail = gate_->Limited([](const std::string& to) { return "to " + to; },
                               [&](const std::string& to) {
                                 Words request = {"mail:" + to};
                                 request.insert(request.end(), limits.begin(), limits.end());
                                 return request;
                               });
    const std::optional<std::string> said = mail(words[0]);
    return said.value_or("limited");
  }

  std::string MakeSlice(const Words& words) {
    slice_.emplace(*gate_, Number(words[0]), milliseconds(Number(words[1])),
                   Words(words.begin() + 2, words.end()));
    return "ok";
  }

  std::string Reserve(const Words& words) {
    hold_.emplace(*gate_, Number(words[0]), milliseconds(Number(words[1])),
                  Words(words.begin() + 2, words.end()));
    return Said(hold_->answer());
  }

  std::string Scope(const Words& words) {
    try {
      Hold hold(*gate_, Number(words[1]), milliseconds(Number(words[2])),
                Words(words.begin() + 3, words.end()));
      if (!hold.answer().passes) return Said(hold.answer());
      if (words[0] == "fails") throw std::runtime_error("the action has failed");
      if (words[0] == "settles") hold.Settle(Number(words[1]));
    } catch (const std::runtime_error& /*failure*/) {
      return "failed";
    }
    return "left";
  }

  std::string MakeLease(const Words& words) {
    lease_.emplace(*gate_, milliseconds(Number(words[0])), Words(words.begin() + 1, words.end()));
    return Said(lease_->answer());
  }

  std::string LeaseInScope(const Words& words) {
    const Lease lease(*gate_, milliseconds(Number(words[0])),
                      Words(words.begin() + 1, words.end()));
    return lease.answer().passes ? "left" : Said(lease.answer());
  }

  std::string Flood(const Words& words) {
    std::int64_t passed = 0;
    for (std::int64_t i = 0; i < Number(words[0]); ++i) {
      if (gate_->Ask({"flood:" + std::to_string(i), "none"}).passes) ++passed;
    }
    return std::to_string(passed);
  }

  std::string Crowd(const Words& words) {
    const Words asked(words.begin() + 2, words.end());
    std::atomic<std::int64_t> passed = 0;
    std::vector<std::thread> threads;
    for (std::int64_t i = 0; i < Number(words[0]); ++i) {
      threads.emplace_back([&] {
        for (std::int64_t j = 0; j < Number(words[1]); ++j) {
          if ((asked.empty() ? slice_->Spend() : gate_->Ask(asked)).passes) ++passed;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return std::to_string(passed);
  }

  std::unique_ptr<Clock> clock_;
  std::optional<Gate> gate_;
  std::optional<Slice> slice_;
  std::optional<Hold> hold_;
  std::optional<Lease> lease_;
  const std::map<std::string, std::function<std::string(const Words&)>> calls_ = {
      {"gate", [this](const Words& words) { return Open(words); }},
      {"clock",
       [this](const Words& words) {
         clock_->Move(Number(words[0]));
         return std::string("ok");
       }},
      {"beats", [this](const Words& /*words*/) { return std::to_string(clock_->beats()); }},
      {"delay",
       [this](const Words& words) {
         clock_->Delay(Number(words[0]));
         return std::string("ok");
       }},
      {"check", [this](const Words& words) { return Said(gate_->Ask(words)); }},
      {"mail", [this](const Words& words) { return Mail(words); }},
      {"slice", [this](const Words& words) { return MakeSlice(words); }},
      {"spend", [this](const Words& /*words*/) { return Said(slice_->Spend()); }},
      {"give_back",
       [this](const Words& /*words*/) {
         slice_->GiveBack();
         return std::string("ok");
       }},
      {"reserve", [this](const Words& words) { return Reserve(words); }},
      {"settle", [this](const Words& words) { return Settled(hold_->Settle(Number(words[0]))); }},
      {"settle_or_charge",
       [this](const Words& words) { return Settled(hold_->SettleOrCharge(Number(words[0]))); }},
      {"cancel",
       [this](const Words& /*words*/) {
         hold_->Cancel();
         return std::string("ok");
       }},
      {"scope", [this](const Words& words) { return Scope(words); }},
      {"lease", [this](const Words& words) { return MakeLease(words); }},
      {"lost",
       [this](const Words& /*words*/) { return std::string(lease_->IsLost() ? "lost" : "held"); }},
      {"release",
       [this](const Words& /*words*/) {
         return std::string(lease_->Release() ? "freed" : "not held");
       }},
      {"lease_scope", [this](const Words& words) { return LeaseInScope(words); }},
      {"flood", [this](const Words& words) { return Flood(words); }},
      {"crowd", [this](const Words& words) { return Crowd(words); }}};
};

}  // namespace
}  // namespace weir::example

int main() {
  signal(SIGPIPE, SIG_IGN);
  weir::example::Program program;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    using Word = std::istream_iterator<std::string>;
    std::cout << program.Run({Word(words), Word()}) << std::endl;
  }
}
