// The host that runs the commands of these tests: weir's server in this process (server_host.cc),
// or weir.so in a redis-server of its own (module_host.cc). Each test is linked with both, one
// after the other: the same requests at the same instants get the same replies. What differs by
// design is in differences.h.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/dialogue.h"
#include "tests/support/fake_clock.h"

namespace weir {

struct HostOptions {
  bool explicit_time = false;  // whether clients may say AT
  std::chrono::milliseconds max_wait = std::chrono::seconds{60};
};

class Host {
 public:
  // A new one, on which nothing has happened yet.
  [[nodiscard]] static std::unique_ptr<Host> Start(const HostOptions& options = {});
  // Whether it is the module. For what differs by design.
  [[nodiscard]] static bool IsModule() noexcept;

  Host() = default;
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Another client. The host outlives it. A client that is destroyed while it waits has left.
  [[nodiscard]] virtual std::unique_ptr<Dialogue> Connect() = 0;

  // All of the host's time. It stands still until a test moves it, and a move is known to the host
  // with the next Send or Receive of any client: then it has served who waited for it.
  [[nodiscard]] virtual FakeClock& clock() noexcept = 0;

  // The buckets that it keeps, those of these keys to the nanosecond: equal texts, equal states.
  [[nodiscard]] virtual std::string State(const std::vector<std::string>& keys) = 0;
};

}  // namespace weir
