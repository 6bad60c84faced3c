// Goal: all clients together hold no more memory than allowed; the client that holds the most, and
// has not asked to stay, is closed first. Method: records of clients that hold given amounts;
// threads for ThreadSanitizer.
#include "server/observe/client_memory.h"

#include <algorithm>
#include <array>
#include <memory>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"

namespace weir {
namespace {

using testing::ElementsAre;

constexpr std::size_t kMegabyte = 1024 * 1024;

class ClientMemoryTest : public testing::Test {
 protected:
  ClientMemoryTest() { SetMost(10 * kMegabyte); }

  void SetMost(std::int64_t bytes) {
    EXPECT_TRUE(settings_
                    .Change([&](Options& options) {
                      options.max_clients_memory.bytes = bytes;
                      return absl::OkStatus();
                    })
                    .ok());
  }
  std::shared_ptr<ClientRecord> Connect() {
    return clients_.Add("127.0.0.1:1", "127.0.0.1:7379", 7, clock_.HostNow());
  }
  std::vector<std::shared_ptr<ClientRecord>> Connect(std::size_t count) {
    std::vector<std::shared_ptr<ClientRecord>> all(count);
    std::ranges::generate(all, [this] { return Connect(); });
    return all;
  }
  // The names of the clients that are still connected.
  std::vector<std::uint64_t> Ids() {
    std::vector<std::uint64_t> ids;
    for (const auto& record : clients_.All()) ids.push_back(record->id);
    return ids;
  }

  FakeClock clock_;
  Settings settings_{DefaultOptions()};
  ClientRegistry clients_;
  ClientMemory memory_{settings_, clock_};
};

TEST_F(ClientMemoryTest, CountsWhatIsHeldNow) {
  const auto one = Connect();
  const auto two = Connect();
  memory_.Set(*one, 500);
  memory_.Set(*two, 300);
  memory_.Set(*one, 100);
  EXPECT_EQ(memory_.held_bytes(), 400U);
  EXPECT_EQ(one->held_bytes, 100U);
  memory_.Set(*one, 0);
  memory_.Set(*two, 0);
  EXPECT_EQ(memory_.held_bytes(), 0U);
  EXPECT_EQ(memory_.evicted(), 0U);
}

TEST_F(ClientMemoryTest, TheLargestClientIsClosed) {
  const std::vector<std::shared_ptr<ClientRecord>> all = Connect(4);
  int woken = 0;
  all[1]->set_on_wake([&] { ++woken; });
  memory_.Set(*all[0], 2 * kMegabyte);
  memory_.Set(*all[1], 5 * kMegabyte);
  memory_.Set(*all[2], 3 * kMegabyte);
  EXPECT_EQ(memory_.evicted(), 0U) << "as much as there may be";
  memory_.Set(*all[3], 1);
  EXPECT_THAT(Ids(), ElementsAre(1, 3, 4));
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(memory_.held_bytes(), 5 * kMegabyte + 1);
  // The connection reports when it has closed.
  memory_.Set(*all[1], 0);
  EXPECT_EQ(memory_.held_bytes(), 5 * kMegabyte + 1);
}

// A connection takes a while to close, and until then reports what it holds.
TEST_F(ClientMemoryTest, NoOtherClientIsClosedWhileOneIsClosing) {
  const auto largest = Connect();
  const auto other = Connect();
  memory_.Set(*largest, 9 * kMegabyte);
  memory_.Set(*other, 2 * kMegabyte);
  ASSERT_THAT(Ids(), ElementsAre(2));
  memory_.Set(*largest, 9 * kMegabyte);
  memory_.Set(*other, 3 * kMegabyte);
  EXPECT_THAT(Ids(), ElementsAre(2));
  EXPECT_EQ(memory_.held_bytes(), 3 * kMegabyte);
  EXPECT_EQ(memory_.evicted(), 1U);
}

TEST_F(ClientMemoryTest, ClosesAsManyAsNeeded) {
  const std::vector<std::shared_ptr<ClientRecord>> all = Connect(9);
  for (const auto& record : all) memory_.Set(*record, kMegabyte);
  SetMost(4 * kMegabyte);
  EXPECT_EQ(memory_.evicted(), 0U) << "until a client needs more";
  memory_.Set(*all[8], kMegabyte + 1);
  EXPECT_EQ(memory_.evicted(), 5U);
  EXPECT_THAT(Ids(), testing::SizeIs(4));
  EXPECT_EQ(all[8]->killed, true);
}

TEST_F(ClientMemoryTest, ClientsThatAskedToStayAreKept) {
  const auto largest = Connect();
  const auto other = Connect();
  largest->stays = true;
  memory_.Set(*largest, 9 * kMegabyte);
  memory_.Set(*other, 2 * kMegabyte);
  EXPECT_THAT(Ids(), ElementsAre(1));
  memory_.Set(*largest, 20 * kMegabyte);
  EXPECT_THAT(Ids(), ElementsAre(1)) << "there is no other";
}

TEST_F(ClientMemoryTest, WithoutABoundAllStay) {
  SetMost(0);
  memory_.Set(*Connect(), std::size_t{1} << 40);
  EXPECT_EQ(memory_.evicted(), 0U);
}

TEST_F(ClientMemoryTest, ManyThreadsAtOnce) {
  SetMost(kMegabyte);
  const auto small = Connect();
  memory_.Set(*small, 1);
  std::array<std::thread, 4> threads;
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (int round = 0; round < 500; ++round) {
        const auto record = Connect();
        memory_.Set(*record, 700'000);
        memory_.Set(*record, 900'000);
        memory_.Set(*record, 0);
        clients_.Remove(*record);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory_.held_bytes(), 1U);
  EXPECT_THAT(Ids(), ElementsAre(1)) << "there was always a larger one";
}

}  // namespace
}  // namespace weir
