// The module as a host: a redis-server process with weir.so in it, whose time the test sets.
//
// Nothing sleeps, and nothing guesses whether a reply is still to come. The server runs one loop:
// it reads and runs the input of all clients, then runs the timers that are due, then writes all
// replies, including those to clients that a timer has served. So after a request, or a move of the
// clock, the test sends PING on a separate connection, twice, each time waiting for the answer. The
// first PING is read with the request or after it; the reply to the second is written after all
// replies of the first loop. A reply that has not come by then is waiting for tokens.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "core/base/check.h"
#include "tests/commands/host.h"
#include "tests/commands/injected_time.h"
#include "tests/commands/redis_connection.h"
#include "tests/support/child_process.h"
#include "tests/support/resp_value.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

constexpr std::size_t kReadBytes = 16 * 1024;  // of a client, that the server reads in one loop
constexpr int kRoundsMax = 10'000;             // a reply takes a few at most

// The file that tells a process the time.
class TimeFile {
 public:
  explicit TimeFile(Instant now) {
    const int file = open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    WEIR_CHECK(file >= 0);
    WEIR_CHECK(ftruncate(file, sizeof(InjectedTime)) == 0);
    void* const bytes =
        mmap(nullptr, sizeof(InjectedTime), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    WEIR_CHECK(bytes != MAP_FAILED);
    time_ = static_cast<InjectedTime*>(bytes);
    close(file);
    time_->wall_ns = now.time_since_epoch().count();
  }
  ~TimeFile() { munmap(time_, sizeof(InjectedTime)); }
  TimeFile(const TimeFile&) = delete;
  TimeFile& operator=(const TimeFile&) = delete;

  [[nodiscard]] std::string path() const { return directory_.path() + "/time"; }

  // Returns whether the clock has moved. The monotonic clock advances by a bit more: Redis uses it
  // to decide when to look at its timers, and rounds to milliseconds.
  bool Set(Instant now) {
    const Nanos moved = now.time_since_epoch() - Nanos{time_->wall_ns};
    if (moved == Nanos{0}) return false;
    time_->wall_ns = now.time_since_epoch().count();
    time_->skew_ns += (moved + std::chrono::milliseconds{2}).count();
    return true;
  }

 private:
  TemporaryDirectory directory_;
  InjectedTime* time_ = nullptr;
};

class ModuleHost : public Host {
 public:
  explicit ModuleHost(const HostOptions& options)
      : time_(clock_.Now()),
        redis_(Words(options),
               {"LD_PRELOAD=" WEIR_INJECTED_TIME_LIBRARY,
                std::string(kInjectedTimeVariable) + "=" + time_.path()},
               "eady to accept connections"),
        control_(socket_path()) {}
  ~ModuleHost() override {
    if (!redis_.started()) return;
    control_.Write(RespRequest(std::vector<std::string>{"SHUTDOWN", "NOSAVE"}));
    EXPECT_EQ(redis_.Stop(0), 0);
  }

  std::unique_ptr<Dialogue> Connect() override;

  FakeClock& clock() noexcept override { return clock_; }

  std::string State(const std::vector<std::string>& /*keys*/) override {
    SetTime();
    return Ask({"DEBUG", "DIGEST"});
  }

  [[nodiscard]] std::string socket_path() const { return redis_.directory() + "/socket"; }

  // Tells the server the time; returns when the server has done everything that was due.
  void SetTime() {
    if (time_.Set(clock_.Now())) Settle();
  }

  // Returns when the server has answered all earlier input, as far as it will. False if the server
  // is gone, which has failed the test.
  bool Settle() {
    const std::string replies = Ask({"PING"}) + Ask({"PING"});
    EXPECT_EQ(replies, "+PONG\r\n+PONG\r\n");
    return !replies.empty();
  }

 private:
  std::string Ask(const std::vector<std::string>& words) {
    control_.Write(RespRequest(words));
    return control_.AwaitSome();
  }

  static std::vector<std::string> Words(const HostOptions& options) {
    const char* const other = std::getenv("WEIR_REDIS_SERVER");
    std::vector<std::string> words = {other == nullptr ? "redis-server" : other};
    words.insert(words.end(), {"--port", "0", "--unixsocket", "socket", "--save", ""});
    words.insert(words.end(), {"--enable-debug-command", "yes"});  // for DEBUG DIGEST
    words.insert(words.end(), {"--loadmodule", WEIR_MODULE});
    words.insert(words.end(), {"max-wait", std::to_string(options.max_wait.count())});
    words.insert(words.end(), {"max-holds", std::to_string(options.max_holds)});
    if (options.explicit_time) words.emplace_back("allow-explicit-time");
    return words;
  }

  FakeClock clock_;
  TimeFile time_;
  ChildProcess redis_;
  RedisConnection control_;
};

class ModuleClient : public Dialogue {
 public:
  explicit ModuleClient(ModuleHost& host)
      : host_(host), connection_(std::in_place, host.socket_path()) {
    host_.Settle();  // A connection is accepted in one loop, and read in the next.
  }
  ~ModuleClient() override {
    connection_.reset();
    host_.Settle();
  }

  std::string Send(std::string_view bytes) override {
    host_.SetTime();
    connection_->Write(bytes);
    std::string replies;
    for (int round = 0; round < kRoundsMax; ++round) {
      const bool is_read = bytes.size() <= kReadBytes || !connection_->HasUnread();
      if (!host_.Settle()) return replies;
      replies += connection_->ReadWhatCame();
      if (is_read && ReadRespValues(replies)) return replies;
    }
    ADD_FAILURE() << "no whole reply: " << replies;
    return replies;
  }

 private:
  ModuleHost& host_;
  std::optional<RedisConnection> connection_;
};

std::unique_ptr<Dialogue> ModuleHost::Connect() { return std::make_unique<ModuleClient>(*this); }

}  // namespace

std::unique_ptr<Host> Host::Start(const HostOptions& options) {
  return std::make_unique<ModuleHost>(options);
}

bool Host::IsModule() noexcept { return true; }

}  // namespace weir
