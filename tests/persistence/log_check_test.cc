// Goal: a log is refused if a synced write in it is damaged, and read if a crash has torn its end.
// Method: a log that RocksDB wrote, one record a write and some records longer than a block; a bit
// flipped at every few bytes; the log cut at every few bytes.
#include "persistence/log_check.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "persistence/crc32c.h"
#include "persistence/database.h"
#include "persistence/stop_file.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

constexpr std::size_t kWrites = 40;

// RocksDB's log after kWrites writes, and its length after each.
class LogCheckTest : public testing::Test {
 protected:
  LogCheckTest() {
    const auto database = Database::Open({.directory = directory_.path()});
    EXPECT_TRUE(database.ok()) << database.status();
    for (std::size_t i = 0; i < kWrites; ++i) {
      const std::string value(i % 20 == 19 ? 50'000 : 10 * i + 1, static_cast<char>('a' + i % 26));
      const auto write = [&](Database::Writer& to) { to.Put(std::to_string(i), value); };
      EXPECT_TRUE((*database)->Write(1, write).ok());
      log_ = Read();
      ends_.push_back(log_.size());
    }
  }

  [[nodiscard]] std::string Read() const {
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      if (entry.path().extension() != ".log") continue;
      std::ifstream file(entry.path(), std::ios::binary);
      return {std::istreambuf_iterator<char>(file), {}};
    }
    return {};
  }

  TemporaryDirectory directory_;
  std::string log_;
  std::vector<std::size_t> ends_;
};

TEST_F(LogCheckTest, AWholeLogIsNotDamaged) {
  EXPECT_GT(log_.size(), 100'000U);
  EXPECT_EQ(FindLogDamage(log_), std::nullopt);
  EXPECT_EQ(FindLogDamage(""), std::nullopt);
}

TEST_F(LogCheckTest, AFlippedBitBeforeTheLastWriteIsDamage) {
  const std::size_t last_write = ends_[kWrites - 2];
  for (std::size_t at = 0; at < log_.size(); at += at < 2000 ? 1 : 97) {
    std::string damaged = log_;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    const std::optional<std::size_t> damage = FindLogDamage(damaged);
    // The last bytes of a block, where no record fits, have no meaning.
    const bool is_padding = at % 32768 > 32768 - 7;
    if (at >= last_write) {
      EXPECT_EQ(damage, std::nullopt) << at;
    } else if (!is_padding) {
      ASSERT_TRUE(damage.has_value()) << at;
      EXPECT_LE(*damage, at);
    }
  }
}

TEST_F(LogCheckTest, ACutOrZeroedEndIsTorn) {
  for (std::size_t at = 0; at < log_.size(); at += 389) {
    EXPECT_EQ(FindLogDamage(log_.substr(0, at)), std::nullopt) << at;
    std::string zeroed = log_.substr(0, at) + std::string(log_.size() - at, '\0');
    EXPECT_EQ(FindLogDamage(zeroed), std::nullopt) << at;
  }
}

// The pages of a long write may reach the disk in any order.
TEST_F(LogCheckTest, ALastWriteWithoutItsBeginningIsTorn) {
  std::string torn = log_;
  const std::size_t last_write = ends_[kWrites - 2];
  ASSERT_GT(torn.size() - last_write, 40'000U) << "it fills more than a block";
  torn.replace(last_write, 1000, 1000, '\0');
  EXPECT_EQ(FindLogDamage(torn), std::nullopt);
}

// A record as RocksDB writes it. Types: 1 a whole write, 2 its first piece, 3 a middle piece, 4 its
// last piece.
std::string RecordOf(char type, const std::string& bytes) {
  const std::uint32_t crc = Crc32c(bytes, Crc32c(std::string(1, type)));
  const std::uint32_t masked = (crc >> 15 | crc << 17) + 0xA282EAD8U;
  std::string record;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    record.push_back(static_cast<char>(masked >> shift));
  }
  record.push_back(static_cast<char>(bytes.size()));
  return (record + '\0' + type).append(bytes);
}

TEST(LogRecordsTest, AWriteWithoutItsBeginningOrItsEndIsDamage) {
  const auto log_of = [](const std::vector<int>& types) {
    std::string log;
    for (const int type : types) log += RecordOf(static_cast<char>(type), "payload");
    return log;
  };
  const std::size_t record = RecordOf(1, "payload").size();
  EXPECT_EQ(FindLogDamage(log_of({1, 2, 4, 2, 3, 3, 4, 1})), std::nullopt);
  EXPECT_EQ(FindLogDamage(log_of({1, 2})), std::nullopt) << "torn";
  EXPECT_EQ(FindLogDamage(log_of({1, 2, 3})), std::nullopt) << "torn";
  EXPECT_EQ(FindLogDamage(log_of({4, 1})), 0U);
  EXPECT_EQ(FindLogDamage(log_of({1, 3, 4})), record);
  EXPECT_EQ(FindLogDamage(log_of({1, 4})), record);
  EXPECT_EQ(FindLogDamage(log_of({2, 1})), record);
  EXPECT_EQ(FindLogDamage(log_of({2, 3, 2, 4})), 2 * record);
}

TEST(Crc32cTest, AgreesWithTheStandard) {
  EXPECT_EQ(Crc32c(""), 0U);
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(Crc32c("6789", Crc32c("12345")), 0xE3069283U);
}

TEST(StopFileTest, ReadsWhatItWritesAndNothingElse) {
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{123}, UINT64_MAX}) {
    const std::string text = StopFileText(number);
    EXPECT_EQ(ReadStopFile(text), number);
    for (std::size_t at = 0; at < text.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string damaged = text;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
        EXPECT_EQ(ReadStopFile(damaged), std::nullopt) << damaged;
      }
      EXPECT_EQ(ReadStopFile(text.substr(0, at)), std::nullopt);
    }
  }
}

}  // namespace
}  // namespace weir
