// A replica whose thread is the test's: a Sink behind a bare socket.
//
//     BareReplica replica(server.port());
//     replica.Connect();
//     replica.AwaitOverrides(3);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/limiter/limiter.h"
#include "core/policies/policies.h"
#include "protocol/link_reply.h"
#include "replication/frame.h"
#include "replication/limiter_target.h"
#include "replication/sink.h"
#include "server/replicas/link_reply.h"
#include "server/replicas/primary_link.h"
#include "tests/server/loopback.h"
#include "tests/support/fake_clock.h"

namespace weir {

class BareReplica {
 public:
  // Connects, and waits until the server has taken the connection.
  explicit BareReplica(std::uint16_t port) : client_(port) {
    constexpr std::string_view kPong = "+PONG\r\n";
    EXPECT_TRUE(client_.Send("PING\r\n"));
    EXPECT_EQ(client_.Receive(kPong.size()), kPong);
  }

  // Begins to follow, without a state.
  void Connect() {
    const std::vector<std::string> words = SyncWords({.oldest_version = kStreamVersionMin,
                                                      .newest_version = kStreamVersionMax,
                                                      .run_id = std::string(40, 'a'),
                                                      .ip = {},
                                                      .port = 1});
    const std::vector<std::string_view> views(words.begin(), words.end());
    std::string request;
    AppendRequest(views, request);
    ASSERT_TRUE(client_.Send(request));
    std::string input;
    std::optional<LinkReply> reply;
    while (!(reply = ReadLinkReply(input))) {
      const std::string byte = client_.Receive(1);
      ASSERT_FALSE(byte.empty()) << "the connection has ended";
      input += byte;
    }
    ASSERT_EQ(reply->error, "");
    const std::optional<SyncAnswer> answer = ReadSyncAnswer(reply->words);
    ASSERT_TRUE(answer.has_value());
    sink_.StartOver(answer->head, true);
    std::string need;
    sink_.AppendNeed(FakeClock::kStart, need);
    ASSERT_TRUE(client_.Send(need));
  }

  // Asks to become the primary, without an ACK before it.
  void AskToTakeOver() {
    std::string takeover;
    sink_.AppendTakeover(FakeClock::kStart, takeover);
    ASSERT_TRUE(client_.Send(takeover));
  }

  // Confirms what was applied: an ACK that echoes the time of the last frame.
  void Acknowledge() {
    std::string ack;
    sink_.AppendAck(FakeClock::kStart, {}, ack);
    ASSERT_TRUE(client_.Send(ack));
  }

  // Applies what comes until there are that many overrides, and all is in sync.
  void AwaitOverrides(std::size_t count) {
    while (!sink_.synced() || policies_.size().overrides != count) ASSERT_TRUE(ApplyFrame());
  }
  // Applies what comes, and confirms each frame, until the primary yields to this replica.
  void AwaitYield() {
    while (!sink_.yielded()) {
      ASSERT_TRUE(ApplyFrame());
      Acknowledge();
    }
  }
  // Applies what comes until the primary refuses to yield to this replica.
  void AwaitRefusal() {
    while (sink_.refusals() == 0) ASSERT_TRUE(ApplyFrame());
  }

 private:
  testing::AssertionResult ApplyFrame() {
    constexpr std::size_t kLengthBytes = 4;
    std::string frame = client_.Receive(kLengthBytes);
    if (frame.size() != kLengthBytes) {
      return testing::AssertionFailure() << "the connection has ended";
    }
    frame += client_.Receive(FrameSizeFrom(frame) - kLengthBytes);
    if (sink_.Receive(frame)) return testing::AssertionSuccess();
    return testing::AssertionFailure() << sink_.error();
  }

  const std::unique_ptr<Limiter> limiter_ = std::make_unique<Limiter>(LimiterOptions{});
  Policies policies_;
  LimiterTarget target_{limiter_->table(), policies_};
  Sink sink_{target_, {.last_changed = LastChanged()}};
  LoopbackClient client_;
};

}  // namespace weir
