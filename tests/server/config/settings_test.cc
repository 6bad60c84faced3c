// Goal: a reader of an option gets the value in force, and of two who change options neither undoes
// what the other did. Method: changes by hand, and threads that count together.
#include "server/config/settings.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status.h"

namespace weir {
namespace {

TEST(SettingsTest, BeginsWithTheOptionsOfTheStart) {
  Options options = DefaultOptions();
  options.max_clients = 7;
  options.timeout = std::chrono::seconds{8};
  options.on_persist_error = OnPersistError::kServe;
  const Settings settings(options);
  EXPECT_EQ(settings.max_clients(), 7);
  EXPECT_EQ(settings.timeout(), std::chrono::seconds{8});
  EXPECT_TRUE(settings.serves_unsaved());
  EXPECT_EQ(settings.snapshot_interval(), std::chrono::seconds{1});
  EXPECT_TRUE(settings.protected_mode());
  EXPECT_EQ(settings.All().max_clients, 7);
}

TEST(SettingsTest, AChangeIsInForceAtOnce) {
  Settings settings(DefaultOptions());
  const absl::Status changed = settings.Change([](Options& options) {
    options.max_clients = 7;
    options.max_memory = {100'000'000};
    options.timeout = std::chrono::seconds{8};
    options.snapshot_interval = std::chrono::milliseconds{9};
    options.on_persist_error = OnPersistError::kServe;
    options.protected_mode = false;
    return absl::OkStatus();
  });
  EXPECT_TRUE(changed.ok());
  EXPECT_EQ(settings.max_clients(), 7);
  EXPECT_EQ(settings.max_memory(), 100'000'000);
  EXPECT_EQ(settings.timeout(), std::chrono::seconds{8});
  EXPECT_EQ(settings.snapshot_interval(), std::chrono::milliseconds{9});
  EXPECT_TRUE(settings.serves_unsaved());
  EXPECT_FALSE(settings.protected_mode());
}

TEST(SettingsTest, AChangeThatFailsIsNone) {
  Settings settings(DefaultOptions());
  int changes = 0;
  settings.set_on_change([&] { ++changes; });
  const auto set_to_seven = [&](const absl::Status& status) {
    return settings.Change([&](Options& options) {
      options.max_clients = 7;
      return status;
    });
  };
  EXPECT_EQ(set_to_seven(absl::InvalidArgumentError("no")).message(), "no");
  EXPECT_EQ(settings.max_clients(), 10'000);
  EXPECT_EQ(settings.All().max_clients, 10'000);
  EXPECT_EQ(changes, 0);
  EXPECT_TRUE(set_to_seven(absl::OkStatus()).ok());
  EXPECT_EQ(changes, 1);
}

TEST(SettingsTest, NoChangeIsLost) {
  constexpr int kThreads = 4;
  constexpr int kChanges = 500;
  Options options = DefaultOptions();
  options.max_clients = 0;
  Settings settings(options);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      std::int64_t seen = 0;
      for (int change = 0; change < kChanges; ++change) {
        const absl::Status changed = settings.Change([](Options& all) {
          ++all.max_clients;
          return absl::OkStatus();
        });
        EXPECT_TRUE(changed.ok());
        EXPECT_GT(settings.max_clients(), seen);
        seen = settings.max_clients();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(settings.max_clients(), kThreads * kChanges);
  EXPECT_EQ(settings.All().max_clients, kThreads * kChanges);
}

}  // namespace
}  // namespace weir
