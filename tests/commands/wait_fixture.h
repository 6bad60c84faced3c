// A fixture for clients that wait for tokens: its clock stops at every instant at which one is due.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

#include "tests/commands/client.h"
#include "tests/commands/differences.h"

namespace weir {

class RlWaitTest : public testing::Test {
 protected:
  // A client that still waits is answered at its instant.
  void TearDown() override {
    while (!waits_.empty()) {
      const auto [ready, client] = *waits_.begin();
      MoveTo(ready);
      EXPECT_NE(client->Receive(), "");
    }
  }

  void Advance(Nanos span) { MoveTo(client_.clock().Now() + span); }
  void AdvanceTo(Nanos since_start) { MoveTo(FakeClock::kStart + since_start); }

  // Moves the clock. On the way, every client is checked to wait until its instant.
  void MoveTo(Instant now) {
    while (!waits_.empty() && waits_.begin()->first <= now) {
      const auto [ready, client] = *waits_.begin();
      waits_.erase(waits_.begin());
      client_.clock().Set(ready - Nanos{1});
      EXPECT_EQ(client->Receive(), "");
    }
    client_.clock().Set(now);
  }

  // Sends a request whose tokens are not available yet.
  void Wait(Client& client, std::string_view line, Nanos ready_since_start) {
    SCOPED_TRACE(line);
    EXPECT_EQ(client.Run(line), "");
    waits_.emplace(AnsweredAt(client.clock().Now(), FakeClock::kStart + ready_since_start),
                   &client);
  }
  void Wait(std::string_view line, Nanos ready_since_start) {
    Wait(client_, line, ready_since_start);
  }

  // Disconnects a client that waits.
  void Leave(std::unique_ptr<Client>& client) {
    std::erase_if(waits_, [&](const auto& wait) { return wait.second == client.get(); });
    client.reset();
  }

  // The state of a bucket, read without changing it: its remaining tokens and when it is full.
  std::string Look(std::string_view key_and_limit) {
    return other_.Run("RL.PEEK " + std::string(key_and_limit) + " COST 0");
  }

  Client client_;
  Client other_{client_.host()};
  std::multimap<Instant, Client*> waits_;  // whose answers are not due yet
};

}  // namespace weir
