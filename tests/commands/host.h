// The host that runs the commands of these tests: weir's server in this process (server_host.cc),
// or weir.so in a redis-server process (module_host.cc). Each test is linked once with each: the
// same requests at the same instants get the same replies. Intended differences are in
// differences.h.
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
  int max_holds = 1'000'000;
};

class Host {
 public:
  // A new host without keys, policies or clients.
  [[nodiscard]] static std::unique_ptr<Host> Start(const HostOptions& options = {});
  // Whether the host is the module, for tests of intended differences.
  [[nodiscard]] static bool IsModule() noexcept;

  Host() = default;
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // A new client, which must not outlive the host. Destroying a waiting client disconnects it.
  [[nodiscard]] virtual std::unique_ptr<Dialogue> Connect() = 0;

  // The clock of the host. It is stopped until a test moves it. The host sees a move with the
  // next Send or Receive of any client, and then has served the clients whose wait is over.
  [[nodiscard]] virtual FakeClock& clock() noexcept = 0;

  // The stored buckets of these keys, to the nanosecond: equal texts mean equal states.
  [[nodiscard]] virtual std::string State(const std::vector<std::string>& keys) = 0;
};

}  // namespace weir
