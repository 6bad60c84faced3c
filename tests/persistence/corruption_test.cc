// Goal: damaged files never crash a server, and never change its state silently. Method: a small
// database of a server that stopped cleanly; each of its files in turn with a bit flipped every few
// bytes, cut short, emptied, filled with zeros or deleted; then a start.
//
// A start must fail with a message, find the saved state, or count records as bad.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tests/persistence/kept_server.h"
#include "tests/random/random_load.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

class CorruptionTest : public testing::Test {
 protected:
  CorruptionTest() {
    KeptServer server(clock_, {.directory = original_.path()});
    EXPECT_TRUE(server.Start().ok());
    server.SetPolicy("free", "900/d");
    for (int tick = 0; tick < 4; ++tick) {
      for (int i = 0; i < 12; ++i) {
        const std::string key = std::to_string(i);
        server.Decide(key, "900/d", 1 + tick);
        server.Decide(key, "900/d,fixed", i + 1);
        server.DecideBy("free", key, i + 1);
      }
      if (tick == 2) {  // What came before and what comes after go into files of their own.
        EXPECT_TRUE(server.Stop().ok());
        EXPECT_TRUE(server.Start().ok());
        EXPECT_TRUE(server.policies().Override("free", "x", KeptServer::LimitsOf("9/d")).ok());
      }
      EXPECT_TRUE(server.Save().ok());
    }
    text_ = Text(server);
    EXPECT_TRUE(server.Stop().ok());
    for (const auto& entry : fs::directory_iterator(original_.path())) {
      const std::string name = entry.path().filename();
      if (!name.starts_with("LOG") && name != "LOCK") names_.push_back(name);
    }
    std::ranges::sort(names_);
  }

  std::string Text(KeptServer& server) const {
    std::string text = std::to_string(server.upkeep().CountLive(clock_.Now()));
    for (int i = 0; i < 12; ++i) {
      std::vector<std::string> lines;
      for (const auto& bucket : server.limiter().Inspect(std::to_string(i), clock_.Now())) {
        lines.push_back(" " + LimitText(bucket.limit) + "=" + std::to_string(bucket.remaining));
      }
      std::ranges::sort(lines);
      for (const std::string& line : lines) text += line;
    }
    for (const auto& policy : server.policies().All()) {
      text += policy->name + std::to_string(policy->overrides->size());
    }
    return text;
  }

  std::string Read(const std::string& name) const {
    std::ifstream file(original_.path() + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Starts a server on a copy in which one file has other bytes, or is deleted if none are given.
  void Try(const std::string& name, const std::optional<std::string>& bytes) {
    TemporaryDirectory damaged;
    fs::copy(original_.path(), damaged.path(), fs::copy_options::recursive);
    fs::remove(damaged.path() + "/" + name);
    if (bytes) damaged.Write(name, *bytes);
    KeptServer server(clock_, {.directory = damaged.path()});
    const absl::Status started = server.Start();
    if (!started.ok()) {
      EXPECT_FALSE(started.message().empty());
      ++refused_;
      return;
    }
    const std::string text = Text(server);
    if (text == text_ && server.found().bad == 0) return;
    ++told_;
    EXPECT_GT(server.found().bad, 0U) << "silently: " << text;
  }

  TemporaryDirectory original_;
  FakeClock clock_;
  std::vector<std::string> names_;
  std::string text_;  // of the state that was saved
  int refused_ = 0;
  int told_ = 0;
};

TEST_F(CorruptionTest, FilesThatAreNotDamagedAreRead) {
  for (const std::string& name : names_) Try(name, Read(name));
  EXPECT_EQ(refused_ + told_, 0);
}

TEST_F(CorruptionTest, AFlippedBitIsToldOrHarmless) {
  std::mt19937_64 random(1);
  for (const std::string& name : names_) {
    const std::string whole = Read(name);
    const auto step = static_cast<std::size_t>(97 * 97 / std::max<std::int64_t>(Scaled(97), 1));
    for (std::size_t at = 0; at < whole.size() && !HasFailure(); at += step) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << Draw(random, 7)));
      SCOPED_TRACE(name + " at " + std::to_string(at) + " of " + std::to_string(whole.size()));
      Try(name, bytes);
    }
  }
  EXPECT_GT(refused_, 0);
}

// The end of a table file describes where its parts are and how they are encoded.
TEST_F(CorruptionTest, AFlippedBitAtTheEndOfATableIsToldOrHarmless) {
  for (const std::string& name : names_) {
    if (!name.ends_with(".sst")) continue;
    const std::string whole = Read(name);
    const std::size_t bytes = std::min<std::size_t>(whole.size(), 220);
    for (std::size_t at = whole.size() - bytes; at < whole.size() && !HasFailure(); ++at) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x80);
      SCOPED_TRACE(name + " at " + std::to_string(at) + " of " + std::to_string(whole.size()));
      Try(name, damaged);
    }
  }
  EXPECT_GT(refused_, 0);
}

TEST_F(CorruptionTest, ACutFileIsToldOrHarmless) {
  std::mt19937_64 random(2);
  for (const std::string& name : names_) {
    const std::string whole = Read(name);
    const auto size = static_cast<std::int64_t>(whole.size());
    for (std::int64_t i = 0; i < Scaled(25) && size > 0 && !HasFailure(); ++i) {
      const auto length = static_cast<std::size_t>(i == 0 ? 0 : Draw(random, size - 1));
      SCOPED_TRACE(name + " cut to " + std::to_string(length) + " of " + std::to_string(size));
      Try(name, whole.substr(0, length));
    }
  }
}

TEST_F(CorruptionTest, AFileOfZerosOrALostOneIsToldOrHarmless) {
  for (const std::string& name : names_) {
    SCOPED_TRACE(name);
    Try(name, std::nullopt);
    Try(name, std::string(Read(name).size(), '\0'));
  }
}

}  // namespace
}  // namespace weir
