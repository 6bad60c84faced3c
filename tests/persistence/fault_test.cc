// Goal: whichever call to the file system fails and whenever the power is cut, a restart finds the
// state at the end of one tick, no older than the last tick that was reported as saved; and saving
// resumes once the faults are over. Method: seeded use of a limiter, saved tick after tick on a
// file system that fails the n-th call (once, or for long), or stops after the n-th sync and loses
// unsynced data (faulty_file_system.h).
#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tests/persistence/faulty_file_system.h"
#include "tests/persistence/kept_server.h"
#include "tests/random/random_load.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

constexpr std::int64_t kKeys = 12;
constexpr std::int64_t kCalls = 200;  // the last that fails
constexpr std::int64_t kLives = 100;  // at scale 1
constexpr std::int64_t kBulk = 4200;  // keys that make a tick a large write

// A server whose state is recorded after each tick.
class Recorded {
 public:
  explicit Recorded(std::uint64_t seed)
      : random_(seed), server_(clock_, {.directory = directory_.path(), .env = files_.env()}) {}

  FaultyFileSystem& files() { return files_; }
  KeptServer& server() { return server_; }
  FakeClock& clock() { return clock_; }
  void Start() {
    const absl::Status started = server_.Start();
    ASSERT_TRUE(started.ok()) << started;
    if (texts_.empty()) texts_ = {Text()};
  }

  // Uses the server and then saves, sometimes many changes. Returns whether the tick was saved.
  bool Tick() {
    const bool large = Draw(random_, 8) == 0;
    for (int i = 0; i < 12; ++i) Use();
    for (std::int64_t i = 0; large && i < kBulk; ++i) {
      server_.Decide("bulk:" + std::to_string(i), "1000/d");
    }
    texts_.push_back(Text());
    const absl::Status saved = server_.Save();
    EXPECT_EQ(saved.message(), server_.saver().status().error);
    if (saved.ok()) last_saved_ = texts_.size() - 1;
    clock_.Advance(std::chrono::milliseconds{1500});
    return saved.ok();
  }

  void Stop() {
    texts_.push_back(Text());
    if (server_.Stop().ok()) last_saved_ = texts_.size() - 1;
  }

  // Starts the server again and compares its state with the recorded ones.
  void ExpectPrefixAfterRestart() {
    server_.End();
    files_.StopFailing();
    files_.Restart();
    const absl::Status started = server_.Start();
    ASSERT_TRUE(started.ok()) << started;
    EXPECT_EQ(server_.found().bad, 0U);
    const std::string text = Text();
    const auto first = texts_.begin() + static_cast<std::ptrdiff_t>(last_saved_);
    EXPECT_NE(std::find(first, texts_.end(), text), texts_.end())
        << "found:\n"
        << text << "\nsaved last, tick " << last_saved_ << ":\n"
        << *first << "\nis a tick before it: " << (std::find(texts_.begin(), first, text) != first);
  }

 private:
  std::string AnyKey() { return "user:" + std::to_string(Draw(random_, kKeys - 1)); }

  // Limits by the day, so that no bucket fills up during the test.
  void Use() {
    static constexpr std::array<std::string_view, 4> kWords = {
        "900/d", "700/d,fixed", "800/d,sliding", "600/month,tz=Europe/Berlin"};
    const std::string key = AnyKey();
    const std::string_view word = DrawOne(random_, kWords);
    const Limit limit = LimitOf(word);
    const std::int64_t what = Draw(random_, 99);
    if (what < 60) {
      server_.Decide(key, word, 1 + Draw(random_, 2));
    } else if (what < 72) {
      server_.limiter().Refund(
          {{.key = key, .limit = &limit, .cost = 2, .hash = server_.limiter().Hash(key)}},
          clock_.Now());
    } else if (what < 82) {
      server_.limiter().Reset(key, {}, clock_.Now());
    } else if (what < 84) {
      server_.upkeep().Clear();
    } else if (what < 87) {
      const std::string id = "id" + std::to_string(Draw(random_, 3));
      if (Draw(random_, 2) > 0 || !server_.Commit(key, id, Draw(random_, 3))) Hold(key, limit, id);
    } else if (what < 90) {
      server_.SetPolicy("free", word);
    } else if (what < 94) {
      if (server_.policies().Find("free")) server_.DecideBy("free", key);
    } else if (what < 97) {
      static_cast<void>(server_.policies().Override("free", key, KeptServer::LimitsOf(word)));
    } else {
      const absl::StatusOr<PolicyId> gone = server_.policies().Delete("free");
      if (gone.ok()) server_.upkeep().ForgetPolicies({&*gone, 1});
    }
  }

  // For so long that no hold expires during the test.
  void Hold(const std::string& key, const Limit& limit, const std::string& id) {
    static const Limit kHeld = LimitOf("9,held");
    static_cast<void>(server_.limiter().DecideAndHold(
        {{.key = key, .limit = &limit, .cost = 3, .hash = server_.limiter().Hash(key)},
         {.key = key, .limit = &kHeld, .cost = 1, .hash = server_.limiter().Hash(key)}},
        {.id = id, .ttl = std::chrono::hours{20}}, clock_.Now()));
  }

  void AddKey(const std::string& key, std::ostream& text) {
    std::vector<std::string> lines;
    for (const LiveBucket& bucket : server_.limiter().Inspect(key, clock_.Now())) {
      std::ostringstream line;
      line << "\n  " << key << " " << bucket.limit << " of "
           << NumberOf(bucket.limit.owner().policy);
      // The latest expiry of a held limit may be that of a hold that was settled.
      if (!bucket.limit.is_held()) line << " full at " << clock_.Now() + bucket.reset_after;
      if (bucket.limit.shape().algorithm != Algorithm::kTokenBucket)
        line << ", " << bucket.remaining;
      lines.push_back(line.str());
    }
    std::ranges::sort(lines);
    for (const std::string& line : lines) text << line;
    for (const LiveHold& hold : server_.limiter().InspectHolds(key, clock_.Now())) {
      if (hold.settled) continue;  // The mark is forgotten after a minute.
      text << "\n  " << key << " holds " << hold.id << " until " << clock_.Now() + hold.expires_in;
      for (const LiveHold::Part& part : hold.parts) text << " " << part.limit << " " << part.cost;
    }
  }

  // The whole state as text; the same text for the same state.
  std::string Text() {
    std::ostringstream text;
    text << server_.upkeep().CountLive(clock_.Now()) << " live";
    for (std::int64_t i = 0; i < kKeys; ++i) AddKey("user:" + std::to_string(i), text);
    for (std::int64_t i = 0; i < kBulk; i += 997) AddKey("bulk:" + std::to_string(i), text);
    for (const auto& policy : server_.policies().All()) {
      text << "\n  " << NumberOf(policy->id) << " " << policy->name << " "
           << PolicyLimitText(policy->limits.front());
      policy->overrides->ForEach([&](const std::string& key, const PolicyLimits& limits) {
        text << " " << key << "=" << PolicyLimitText(limits.front());
        return true;
      });
    }
    return text.str();
  }

  std::mt19937_64 random_;
  TemporaryDirectory directory_;
  FaultyFileSystem files_;
  FakeClock clock_;
  KeptServer server_;
  std::vector<std::string> texts_;  // as of each tick; the first is empty
  std::size_t last_saved_ = 0;
};

// `ends`: whether the life ends with a crash, or continues until a save succeeds.
void FailNthCall(std::int64_t n, std::int64_t count, bool no_space, bool ends) {
  SCOPED_TRACE("call " + std::to_string(n) + ", " + std::to_string(count) + " of them");
  Recorded life(static_cast<std::uint64_t>(100 * n + count));
  life.Start();
  life.files().FailFrom(n, count,
                        no_space ? rocksdb::IOStatus::NoSpace("injected: no space left")
                                 : rocksdb::IOStatus::IOError("injected: input/output error"));
  const std::int64_t last = life.files().calls() + n + count;
  for (int tick = 0; tick < 3 || (tick < 40 && life.files().calls() < last); ++tick) life.Tick();
  if (ends) {
    life.files().Crash();
  } else {
    life.files().StopFailing();
    life.clock().Advance(Saver::kRetryMax);
    // A fault of RocksDB's own threads is reported by the next write, which then fails.
    if (!life.Tick()) {
      life.clock().Advance(Saver::kRetryMax);
      EXPECT_TRUE(life.Tick()) << life.server().saver().status().error;
    }
    if (n % 2 == 0) life.Stop();
  }
  life.ExpectPrefixAfterRestart();
}

TEST(FaultTest, OneFailedCallLosesNothing) {
  for (std::int64_t i = 1; i <= Scaled(kLives) && !testing::Test::HasFailure(); ++i) {
    const std::int64_t n = 1 + (i - 1) * kCalls / Scaled(kLives);
    FailNthCall(n, 1, n % 4 == 0, n % 3 != 0);
  }
}

TEST(FaultTest, ManyFailedCallsLoseNothingThatWasSaved) {
  for (std::int64_t i = 1; i <= Scaled(kLives) && !testing::Test::HasFailure(); ++i) {
    const std::int64_t n = 1 + (i - 1) * kCalls / Scaled(kLives);
    FailNthCall(n, 1 + n % 40, n % 4 == 0, n % 3 != 0);
  }
}

TEST(FaultTest, ACrashAfterAnySyncLeavesSomeTick) {
  for (std::int64_t i = 1; i <= Scaled(60) && !testing::Test::HasFailure(); ++i) {
    const std::int64_t n = 1 + (i - 1) * 60 / Scaled(60);
    SCOPED_TRACE("sync " + std::to_string(n));
    Recorded life(static_cast<std::uint64_t>(n));
    life.Start();
    life.files().CrashAfterSync(n);
    for (int tick = 0; tick < 12 && !life.files().crashed(); ++tick) {
      life.Tick();
    }
    life.files().Crash();
    life.ExpectPrefixAfterRestart();
  }
}

// The very first start: there is no state yet, but the next start must work.
TEST(FaultTest, AFirstStartMayFailAtAnyCall) {
  for (const bool crashes : {false, true}) {
    const std::int64_t step = 60 / Scaled(60);
    for (std::int64_t n = 1; n <= 60 && !testing::Test::HasFailure();
         n += std::max<std::int64_t>(step, 1)) {
      SCOPED_TRACE("call " + std::to_string(n));
      TemporaryDirectory directory;
      FaultyFileSystem files;
      FakeClock clock;
      KeptServer server(clock, {.directory = directory.path() + "/data", .env = files.env()});
      files.FailFrom(n, crashes ? 1'000'000 : 1, rocksdb::IOStatus::IOError("injected"));
      const bool started = server.Start().ok();
      EXPECT_FALSE(crashes && started && files.calls() >= n);
      server.End();
      if (crashes) files.Crash();
      files.StopFailing();
      if (crashes) files.Restart();
      const absl::Status again = server.Start();
      ASSERT_TRUE(again.ok()) << again;
      EXPECT_EQ(server.found().loaded, 0U);
    }
  }
}

}  // namespace
}  // namespace weir
