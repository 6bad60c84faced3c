// The server as a host: one worker, one limiter, no sockets.
#include <chrono>
#include <cstdint>

#include "core/limiter/limiter_upkeep.h"
#include "tests/commands/host.h"
#include "tests/support/conversation.h"

namespace weir {
namespace {

// Checks at every Send whether the client's wait was ended by another client, as by CLIENT UNBLOCK.
class ServerClient : public Conversation {
 public:
  using Conversation::Conversation;

  std::string Send(std::string_view bytes) override {
    WakeUp();
    return Conversation::Send(bytes);
  }
};

class ServerHost : public Host {
 public:
  explicit ServerHost(const HostOptions& options)
      : server_(OptionsOf(options), {.secret = TestServer::kSecret,
                                     .max_wait = options.max_wait,
                                     .holds_max = static_cast<std::size_t>(options.max_holds),
                                     .time_is_ordered = !options.explicit_time}) {
    const auto begin = std::chrono::floor<std::chrono::microseconds>(server_.clock.Now());
    server_.services.first_operator_change =
        static_cast<std::uint64_t>(begin.time_since_epoch().count());
  }

  std::unique_ptr<Dialogue> Connect() override { return std::make_unique<ServerClient>(server_); }

  FakeClock& clock() noexcept override { return server_.clock; }

  std::string State(const std::vector<std::string>& keys) override {
    Limiter& limiter = *server_.limiter;
    const LimiterUpkeep::Size size = LimiterUpkeep(limiter.table()).size();
    std::string state =
        std::to_string(size.buckets) + " buckets, " + std::to_string(size.limits) + " limits\n";
    for (const std::string& key : keys) {
      for (const LiveBucket& bucket : limiter.Inspect(key, server_.clock.Now())) {
        state += key + " " + LimitText(bucket.limit) + ": " + std::to_string(bucket.remaining) +
                 ", " + std::to_string(bucket.reset_after.count()) + " ns\n";
      }
    }
    return state;
  }

 private:
  static Options OptionsOf(const HostOptions& wanted) {
    Options options = DefaultOptions();
    options.allow_explicit_time = wanted.explicit_time;
    options.max_wait = wanted.max_wait;
    return options;
  }

  TestServer server_;
};

}  // namespace

std::unique_ptr<Host> Host::Start(const HostOptions& options) {
  return std::make_unique<ServerHost>(options);
}

bool Host::IsModule() noexcept { return false; }

}  // namespace weir
