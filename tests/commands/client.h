// A client of a host, which also owns the host unless it is given one.
//
//     Client client;                                    // a host, and a client of it
//     client.Show("RL.ALLOW user:42 10/s")              // the reply in the short form of the docs
//     client.clock().Advance(std::chrono::seconds{1});
//     Client other(client.host());                      // another client of the same host
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tests/commands/host.h"
#include "tests/support/dialogue.h"

namespace weir {

class Client : public Dialogue {
 public:
  explicit Client(const HostOptions& options = {}) : Client(Host::Start(options)) {}
  explicit Client(Host& host) : host_(host), dialogue_(host.Connect()) {}

  std::string Send(std::string_view bytes) override { return dialogue_->Send(bytes); }

  [[nodiscard]] Host& host() noexcept { return host_; }
  [[nodiscard]] FakeClock& clock() noexcept { return host_.clock(); }

 private:
  explicit Client(std::unique_ptr<Host> host)
      : owned_(std::move(host)), host_(*owned_), dialogue_(host_.Connect()) {}

  const std::unique_ptr<Host> owned_;
  Host& host_;
  const std::unique_ptr<Dialogue> dialogue_;
};

}  // namespace weir
