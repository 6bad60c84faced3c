// Calls examples/cpp as the lines of its standard input say (limited_test.py).
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "examples/cpp/limited.h"
#include "examples/cpp/slice.h"

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

class Program {
 public:
  // `words`: a call and its arguments. Returns what the call says.
  std::string Run(const Words& words) {
    return calls_.at(words[0])({words.begin() + 1, words.end()});
  }

 private:
  std::string Open(const Words& words) {
    slice_.reset();
    ms_ = 0;
    GateOptions options{.port = static_cast<int>(Number(words[0])),
                        .when_down = words[1] == "open" ? WhenDown::kOpen : WhenDown::kClosed,
                        .now = [this] { return steady_clock::time_point(milliseconds(ms_)); }};
    if (words[2] != "0") options.deadline = milliseconds(Number(words[2]));
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
    try {
      const std::optional<std::string> said = mail(words[0]);
      return said.value_or("limited");
    } catch (const Mistake& mistake) {
      return std::string("mistake ") + mistake.what();
    }
  }

  std::string MakeSlice(const Words& words) {
    slice_.emplace(*gate_, Number(words[0]), milliseconds(Number(words[1])),
                   Words(words.begin() + 2, words.end()));
    return "ok";
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

  std::atomic<std::int64_t> ms_ = 0;
  std::optional<Gate> gate_;
  std::optional<Slice> slice_;
  const std::map<std::string, std::function<std::string(const Words&)>> calls_ = {
      {"gate", [this](const Words& words) { return Open(words); }},
      {"clock",
       [this](const Words& words) {
         ms_ += Number(words[0]);
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
