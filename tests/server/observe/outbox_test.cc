// Goal: a client gets the bytes of its outbox in their order, and one that does not read is closed
// before its bytes exceed their bound. Method: outboxes without a session; wake-ups are counted.
#include "server/observe/outbox.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/os/log.h"
#include "tests/support/fake_clock.h"

namespace weir {
namespace {

std::shared_ptr<ClientRecord> RecordOfClient() {
  return std::make_shared<ClientRecord>(
      ClientArrival{1, "127.0.0.1:60866", "own", 7, HostInstant{}, Face::kResp});
}

TEST(OutboxTest, GivesItsBytesInTheirOrderAndWakesTheClientOnce) {
  const FakeClock clock;
  Outboxes all(clock);
  const auto record = RecordOfClient();
  int wakes = 0;
  record->set_on_wake([&wakes] { ++wakes; });
  Outbox outbox(all, record);
  EXPECT_FALSE(outbox.has_bytes());
  outbox.Append("one ");
  outbox.Append("two");
  EXPECT_EQ(wakes, 1);
  EXPECT_TRUE(outbox.has_bytes());
  EXPECT_EQ(outbox.Take(), "one two");
  EXPECT_FALSE(outbox.has_bytes());
  outbox.Append("three");
  EXPECT_EQ(wakes, 2);
  EXPECT_EQ(outbox.Take(), "three");
}

TEST(OutboxTest, AClientThatDoesNotReadIsClosed) {
  const FakeClock clock;
  Outboxes all(clock);
  const auto deaf = RecordOfClient();
  const auto reader = RecordOfClient();
  Outbox slow(all, deaf);
  Outbox quick(all, reader);
  const std::string bytes(1000, 'x');
  testing::internal::CaptureStderr();
  ConfigureLog(LogLevel::kWarning);
  std::size_t held_max = 0;
  for (std::size_t sent = 0; sent < 4 * Outboxes::kBytesOfOneMax; sent += bytes.size()) {
    slow.Append(bytes);
    quick.Append(bytes);
    EXPECT_EQ(quick.Take(), bytes);
    quick.OnSent();
    if (!deaf->killed) held_max = sent + bytes.size();
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("it does not read what it subscribes to"));
  EXPECT_TRUE(deaf->killed.load());
  EXPECT_FALSE(reader->killed.load());
  EXPECT_LE(held_max, Outboxes::kBytesOfOneMax);
  EXPECT_GT(held_max, Outboxes::kBytesOfOneMax - 2 * bytes.size());
  EXPECT_EQ(slow.Take(), "");
}

// Bytes that a connection took but could not send yet count, too.
TEST(OutboxTest, TakenBytesCountUntilTheyAreSent) {
  const FakeClock clock;
  Outboxes all(clock);
  const auto deaf = RecordOfClient();
  Outbox slow(all, deaf);
  std::size_t taken = 0;
  while (!deaf->killed && taken <= Outboxes::kBytesOfOneMax) {
    slow.Append(std::string(400, 'x'));
    taken += slow.Take().size();
  }
  EXPECT_TRUE(deaf->killed.load());
}

TEST(OutboxTest, AClientThatIsBehindMissesWhatItIsOffered) {
  const FakeClock clock;
  Outboxes all(clock);
  const auto deaf = RecordOfClient();
  Outbox slow(all, deaf);
  const std::string bytes(1000, 'x');
  std::size_t held = 0;
  while (slow.Offer(bytes)) held += bytes.size();
  EXPECT_LE(held, Outboxes::kBytesBehindMax);
  EXPECT_GT(held, Outboxes::kBytesBehindMax - bytes.size());
  EXPECT_EQ(slow.Take().size(), held);
  EXPECT_FALSE(slow.Offer(bytes)) << "they are not sent yet";
  EXPECT_FALSE(deaf->killed.load());
  slow.Append(bytes);
  EXPECT_EQ(slow.Take(), bytes) << "what others send has a bound of its own";
  slow.OnSent();
  EXPECT_TRUE(slow.Offer(bytes));
}

TEST(OutboxTest, NobodyIsClosedForWhatIsOffered) {
  const FakeClock clock;
  Outboxes all(clock);
  std::vector<std::shared_ptr<ClientRecord>> records;
  std::vector<std::unique_ptr<Outbox>> deaf;
  const std::string bytes(Outboxes::kBytesBehindMax, 'x');
  std::size_t taken = 0;
  for (std::size_t i = 0; i < 2 * Outboxes::kBytesOfAllMax / bytes.size(); ++i) {
    deaf.push_back(std::make_unique<Outbox>(all, records.emplace_back(RecordOfClient())));
    if (deaf.back()->Offer(bytes)) ++taken;
  }
  EXPECT_EQ(taken, Outboxes::kBytesOfAllMax / bytes.size());
  // The others do not take it away from a client that reads.
  Outbox quick(all, records.emplace_back(RecordOfClient()));
  for (int i = 0; i < 3; ++i) {
    const std::string small(Outboxes::kSmallBytesMax, 'x');
    EXPECT_TRUE(quick.Offer(small));
    EXPECT_FALSE(quick.Offer(small)) << "the first is not read yet";
    EXPECT_EQ(quick.Take(), small);
    quick.OnSent();
  }
  EXPECT_TRUE(
      std::ranges::none_of(records, [](const auto& record) { return record->killed.load(); }));
}

// Any number of clients hold no more together, and one that reads is not closed because of others.
TEST(OutboxTest, AllTogetherHoldNoMoreThanTheyMay) {
  const FakeClock clock;
  Outboxes all(clock);
  const auto reader = RecordOfClient();
  Outbox quick(all, reader);
  constexpr std::size_t kEach = Outboxes::kBytesOfOneMax / 2;
  std::vector<std::shared_ptr<ClientRecord>> records;
  std::vector<std::unique_ptr<Outbox>> deaf;
  for (std::size_t i = 0; i < 2 * Outboxes::kBytesOfAllMax / kEach; ++i) {
    deaf.push_back(std::make_unique<Outbox>(all, records.emplace_back(RecordOfClient())));
    deaf.back()->Append(std::string(kEach, 'x'));
    quick.Append("x");
    EXPECT_EQ(quick.Take(), "x");
    quick.OnSent();
  }
  EXPECT_FALSE(reader->killed.load());
  EXPECT_TRUE(
      std::ranges::any_of(records, [](const auto& record) { return record->killed.load(); }));
  std::size_t held = 0;
  for (const auto& outbox : deaf) held += outbox->Take().size();
  EXPECT_LE(held, Outboxes::kBytesOfAllMax);
  EXPECT_GT(held, Outboxes::kBytesOfAllMax / 2);
}

}  // namespace
}  // namespace weir
