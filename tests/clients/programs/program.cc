// Calls weir_client as the lines of its standard input say (case_programs.py).
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <openssl/ssl.h>

#include "tests/clients/programs/clock.h"
#include "tests/clients/programs/said.h"
#include "weir/limiter.h"

namespace weir {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

Words WordsFrom(const json& call, std::size_t first) {
  return {call.begin() + static_cast<std::ptrdiff_t>(first), call.end()};
}

milliseconds Ms(const json& number) { return milliseconds(number.get<std::int64_t>()); }

template <class T>
std::optional<T> Get(const json& options, const char* name) {
  if (!options.contains(name)) return {};
  return options[name].get<T>();
}

// A context of OpenSSL that trusts the authority of this file alone.
SSL_CTX* ContextOf(const std::string& ca) {
  static std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> kept(nullptr, SSL_CTX_free);
  kept.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_verify(kept.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_load_verify_locations(kept.get(), ca.c_str(), nullptr);
  return kept.get();
}

Options ReadOptions(const json& given) {
  Options options{.url = Get<std::string>(given, "url"),
                  .host = Get<std::string>(given, "host"),
                  .port = Get<int>(given, "port"),
                  .unix_socket = Get<std::string>(given, "unix_socket"),
                  .sentinels = given.value("sentinels", std::vector<std::string>()),
                  .master = Get<std::string>(given, "master"),
                  .username = Get<std::string>(given, "username"),
                  .password = Get<std::string>(given, "password")};
  if (const auto fail = Get<std::string>(given, "fail")) options.fail = ParseFail(*fail);
  if (given.contains("deadline_ms")) options.deadline = Ms(given["deadline_ms"]);
  if (given.contains("tls")) {
    const json tls = given["tls"].is_object() ? given["tls"] : json::object();
    options.tls = Tls{.ca = tls.value("ca", ""),
                      .certificate = tls.value("certificate", ""),
                      .key = tls.value("key", "")};
    if (tls.contains("context")) options.tls->context = ContextOf(tls["context"]);
  }
  return options;
}

class Program {
 public:
  // What the call says: a name and its arguments.
  std::string Run(const json& call) {
    try {
      return calls_.at(call[0].get<std::string>())(call);
    } catch (const Limited& limited) {
      return Said(limited);
    } catch (const Mistake& mistake) {
      return std::string("mistake ") + mistake.what();
    } catch (const Unavailable& unavailable) {
      text_ = unavailable.what();
      return "raised " + std::string(unavailable.cause);
    }
  }

 private:
  // Begins a call in a thread; several may run. End() waits for all, and says what they say.
  std::string Begin(const json& call) {
    begun_.push_back(std::async(std::launch::async, [this, call] { return Run(call[1]); }));
    return "ok";
  }

  std::string End() {
    std::string said;
    for (std::future<std::string>& each : std::exchange(begun_, {})) {
      said += (said.empty() ? "" : " | ") + each.get();
    }
    return said;
  }

  // What a call says in a child process, which then closes its Limiter.
  std::string Fork(const json& call) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
    const pid_t child = fork();
    if (child == 0) {
      const std::string said = Run(call[1]);
      limiter_.reset();
      _exit(write(ends[1], said.data(), said.size()) > 0 ? 0 : 1);
    }
    close(ends[1]);
    std::array<char, 1024> said{};
    const ssize_t size = read(ends[0], said.data(), said.size());
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return {said.data(), static_cast<std::size_t>(std::max<ssize_t>(0, size))};
  }

  std::string Make(const json& call) {
    slice_.reset();
    hold_.reset();
    lease_.reset();
    limiter_.reset();
    causes_.clear();
    clock_ = std::make_unique<Clock>();
    const json& given = call[1];
    Options options = ReadOptions(given);
    options.clock = [clock = clock_.get()] { return clock->Now(); };
    if (!given.value("timer", false)) {
      options.every = [clock = clock_.get()](milliseconds period, std::function<void()> function) {
        return clock->Every(period, std::move(function));
      };
    }
    if (given.value("threads", "") == "none") {
      options.every = [](milliseconds, const std::function<void()>&) -> std::function<void()> {
        throw std::system_error(EAGAIN, std::generic_category());
      };
    }
    const std::string callback = given.value("callback", "records");
    if (callback == "records") {
      options.on_unavailable = [this](std::string_view cause) {
        const std::lock_guard lock(causes_mutex_);
        causes_.emplace_back(cause);
      };
    } else if (callback == "raises") {
      options.on_unavailable = [](std::string_view cause) {
        throw std::runtime_error(std::string(cause));
      };
    }
    limiter_.emplace(options);
    return "ok";
  }

  std::string Address() {
    return limiter_->address() + (limiter_->fail() == Fail::kOpen ? " open " : " closed ") +
           std::to_string(limiter_->deadline().count());
  }

  std::string Text() {
    std::ostringstream text;
    text << *limiter_;
    return text.str();
  }

  std::string Causes() {
    std::string said;
    for (const std::string& cause : std::exchange(causes_, {})) {
      said += (said.empty() ? "" : " ") + cause;
    }
    return said.empty() ? "none" : said;
  }

  std::string Check(const json& call) {
    limiter_->Limited([] {}, WordsFrom(call, 1))().value();
    return "passes";
  }

  std::string Mail(const json& call) {
    auto mail = limiter_->Limited([](const std::string& to) { return "to " + to; },
                                  [&](const std::string& to) {
                                    Words words = WordsFrom(call, 1);
                                    words[0] = "mail:" + to;
                                    return words;
                                  });
    return mail(call[1].get<std::string>()).value();
  }

  Outcome<Hold> Reserve(const json& call, std::size_t first) {
    std::optional<std::int64_t> estimate;
    if (!call[first].is_null()) estimate = call[first].get<std::int64_t>();
    return limiter_->Reserve(Ms(call[first + 1]), WordsFrom(call, first + 2), estimate);
  }

  std::string KeepHold(const json& call) {
    hold_.emplace(std::move(Reserve(call, 1).value()));
    return "passes";
  }

  std::string Scope(const json& call) {
    try {
      Hold hold = std::move(Reserve(call, 2).value());
      if (call[1] == "fails") throw std::out_of_range("the action has failed");
      if (call[1] == "settles") hold.Settle(call[2].get<std::int64_t>());
    } catch (const std::out_of_range&) {
      return "failed";
    }
    return "left";
  }

  std::string KeepLease(const json& call) {
    lease_.emplace(std::move(limiter_->Lease(Ms(call[1]), WordsFrom(call, 2)).value()));
    return "passes";
  }

  std::string LeaseInScope(const json& call) {
    limiter_->Lease(Ms(call[1]), WordsFrom(call, 2)).value();
    return "left";
  }

  std::string Flood(const json& call) {
    std::int64_t passed = 0;
    for (std::int64_t i = 0; i < call[1].get<std::int64_t>(); ++i) {
      if (limiter_->Allow({"flood:" + std::to_string(i), "none"})) ++passed;
    }
    return std::to_string(passed);
  }

  std::string Crowd(const json& call) {
    const Words words = WordsFrom(call, 3);
    std::atomic<std::int64_t> passed = 0;
    const auto ask = [&] {
      for (std::int64_t i = 0; i < call[2].get<std::int64_t>(); ++i) {
        if (words.empty() ? bool(slice_->Spend()) : bool(limiter_->Allow(words))) ++passed;
      }
    };
    std::vector<std::thread> threads(call[1].get<std::size_t>());
    for (std::thread& thread : threads) thread = std::thread(ask);
    for (std::thread& thread : threads) thread.join();
    return std::to_string(passed);
  }

  // As many calls that wait, each for another key; their causes, when all have ended.
  std::string WaitAll(const json& call) {
    std::vector<std::string> causes(call[1].get<std::size_t>());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < causes.size(); ++i) {
      threads.emplace_back([&, i] {
        const std::string key = call[3].get<std::string>() + std::to_string(i);
        causes[i] = limiter_->Wait(Ms(call[2]), {key, call[4].get<std::string>()}).cause;
      });
    }
    std::string said;
    for (std::size_t i = 0; i < causes.size(); ++i) {
      threads[i].join();
      said += (i == 0 ? "" : " ") + causes[i];
    }
    return said;
  }

  std::unique_ptr<Clock> clock_;
  std::mutex causes_mutex_;
  std::vector<std::string> causes_;  // guarded by causes_mutex_ while calls run
  std::string text_;                 // of the last Unavailable
  std::optional<Limiter> limiter_;
  std::optional<Slice> slice_;
  std::optional<Hold> hold_;
  std::optional<Lease> lease_;
  std::vector<std::future<std::string>> begun_;

  using Call = std::function<std::string(const json& call)>;

  // A call that says "ok".
  template <class Action>
  static Call Ok(Action action) {
    return [action](const json& call) {
      action(call);
      return std::string("ok");
    };
  }

  // A call whose text depends on what the action returns.
  template <class Action>
  static Call Either(Action action, std::string yes, std::string no) {
    return [=](const json& call) { return action(call) ? yes : no; };
  }

  template <class Action>
  static Call Decided(Action action) {
    return [action](const json& call) { return Said(action(call)); };
  }

  const std::map<std::string, Call> calls_ = {
      {"limiter", [this](const json& call) { return Make(call); }},
      {"address", [this](const json&) { return Address(); }},
      {"text", [this](const json&) { return Text(); }},
      {"why", [this](const json&) { return text_; }},
      {"causes", [this](const json&) { return Causes(); }},
      {"counts", [this](const json&) { return Said(limiter_->counts()); }},
      {"begin", [this](const json& call) { return Begin(call); }},
      {"end", [this](const json&) { return End(); }},
      {"fork", [this](const json& call) { return Fork(call); }},
      {"close", Ok([this](const json&) { limiter_->Close(); })},
      {"clock", Ok([this](const json& call) { clock_->Move(call[1].get<std::int64_t>()); })},
      {"delay", Ok([this](const json& call) { clock_->Delay(call[1].get<std::int64_t>()); })},
      {"beats", [this](const json&) { return std::to_string(clock_->timers()); }},
      {"allow", Decided([this](const json& call) { return limiter_->Allow(WordsFrom(call, 1)); })},
      {"details", Decided([this](const json& call) {
         return limiter_->Allow(WordsFrom(call, 1), Details::kYes);
       })},
      {"peek", Decided([this](const json& call) { return limiter_->Peek(WordsFrom(call, 1)); })},
      {"charge",
       Decided([this](const json& call) { return limiter_->Charge(WordsFrom(call, 1)); })},
      {"refund",
       Decided([this](const json& call) { return limiter_->Refund(WordsFrom(call, 1)); })},
      {"wait", Decided([this](const json& call) {
         return limiter_->Wait(Ms(call[1]), WordsFrom(call, 2));
       })},
      {"wait_all", [this](const json& call) { return WaitAll(call); }},
      {"command", [this](const json& call) { return Json(limiter_->Command(WordsFrom(call, 1))); }},
      {"verify", Ok([this](const json& call) {
         call.size() > 1 ? limiter_->Verify(WordsFrom(call, 1)) : limiter_->Verify();
       })},
      {"fields",
       [this](const json& call) {
         return SaidInHttp(limiter_->Allow(WordsFrom(call, 1), Details::kYes));
       }},
      {"plain_fields",
       [this](const json& call) { return SaidInHttp(limiter_->Allow(WordsFrom(call, 1))); }},
      {"check", [this](const json& call) { return Check(call); }},
      {"mail", [this](const json& call) { return Mail(call); }},
      {"slice", Ok([this](const json& call) {
         slice_.emplace(
             limiter_->Slice(call[1].get<std::int64_t>(), Ms(call[2]), WordsFrom(call, 3)));
       })},
      {"spend",
       [this](const json&) {
         slice_->Spend().value();
         return std::string("passes");
       }},
      {"give_back", Ok([this](const json&) { slice_->GiveBack(); })},
      {"reserve", [this](const json& call) { return KeepHold(call); }},
      {"settle",
       Either([this](const json& call) { return hold_->Settle(call[1].get<std::int64_t>()); },
              "settled", "not settled")},
      {"settle_or_charge",
       Either(
           [this](const json& call) { return hold_->SettleOrCharge(call[1].get<std::int64_t>()); },
           "settled", "not settled")},
      {"cancel", Ok([this](const json&) { hold_->Cancel(); })},
      {"scope", [this](const json& call) { return Scope(call); }},
      {"lease", [this](const json& call) { return KeepLease(call); }},
      {"lost", Either([this](const json&) { return lease_->lost(); }, "lost", "held")},
      {"release", Either([this](const json&) { return lease_->Release(); }, "freed", "not held")},
      {"lease_scope", [this](const json& call) { return LeaseInScope(call); }},
      {"flood", [this](const json& call) { return Flood(call); }},
      {"crowd", [this](const json& call) { return Crowd(call); }}};
};

}  // namespace
}  // namespace weir

int main() {
  weir::Program program;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << program.Run(nlohmann::json::parse(line)) << std::endl;
  }
}
