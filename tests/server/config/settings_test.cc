// Goal: a reader of an option gets the value in force, and of two threads that change options
// neither undoes the change of the other. Method: changes by hand, a change of each row of the
// option table, and threads that count together.
#include "server/config/settings.h"

#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
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
  EXPECT_EQ(settings.Get(&Options::max_clients), 7);
  EXPECT_EQ(settings.Get(&Options::timeout), std::chrono::seconds{8});
  EXPECT_EQ(settings.Get(&Options::on_persist_error), OnPersistError::kServe);
  EXPECT_EQ(settings.Get(&Options::snapshot_interval), std::chrono::seconds{1});
  EXPECT_TRUE(settings.Get(&Options::protected_mode));
  EXPECT_EQ(settings.All().max_clients, 7);
}

// The value that a reader of an option gets; unset for an option that has no such reader, since it
// is a text.
std::optional<std::string> TextInForce(const Settings& settings, const OptionSpec& spec) {
  const auto text = [&](auto field) -> std::optional<std::string> {
    Options seen = DefaultOptions();
    if constexpr (!std::is_trivially_copyable_v<std::remove_cvref_t<decltype(seen.*field)>>) {
      return std::nullopt;
    } else {
      seen.*field = settings.Get(field);
      return OptionText(spec, seen);
    }
  };
  return std::visit(text, spec.field);
}

// Sets the option to a value other than its default; returns that value.
std::string SetToAnother(const OptionSpec& spec, Options& options) {
  for (const char* const text :
       {"33", "3", "33mb", "250ms", "true", "false", "json", "warning", "serve", "none", "optional",
        "reference", "770", "closed", "127.0.0.2", "127.0.0.2 33", "127.0.0.2:33"}) {
    if (text != spec.fallback && SetOption(spec, text, options).ok()) break;
  }
  return OptionText(spec, options);
}

TEST(SettingsTest, EveryLiveOptionIsInForceAtOnceAndNoOther) {
  for (const OptionSpec& spec : OptionTable()) {
    Settings settings(DefaultOptions());
    std::string text;
    const absl::Status changed = settings.Change([&](Options& options) {
      text = SetToAnother(spec, options);
      return absl::OkStatus();
    });
    EXPECT_TRUE(changed.ok());
    EXPECT_NE(text, spec.fallback) << spec.name;
    EXPECT_EQ(OptionText(spec, settings.All()), text);
    const std::optional<std::string> in_force = TextInForce(settings, spec);
    const bool is_text = std::holds_alternative<std::string Options::*>(spec.field) ||
                         std::holds_alternative<Secret Options::*>(spec.field) ||
                         std::holds_alternative<HostName Options::*>(spec.field);
    EXPECT_TRUE(in_force || is_text || !spec.live) << spec.name;
    const std::string expected = spec.live ? text : std::string(spec.fallback);
    EXPECT_EQ(in_force.value_or(expected), expected) << spec.name;
  }
}

TEST(SettingsTest, AChangeThatFailsIsNone) {
  Settings settings(DefaultOptions());
  std::vector<std::int64_t> told;
  const auto listener = [&](const Options& options) { told.push_back(options.max_clients); };
  settings.OnChange(listener);
  settings.OnChange(listener);
  const auto set_to_seven = [&](const absl::Status& status) {
    return settings.Change([&](Options& options) {
      options.max_clients = 7;
      return status;
    });
  };
  EXPECT_EQ(set_to_seven(absl::InvalidArgumentError("no")).message(), "no");
  EXPECT_EQ(settings.Get(&Options::max_clients), 10'000);
  EXPECT_EQ(settings.All().max_clients, 10'000);
  EXPECT_THAT(told, testing::IsEmpty());
  EXPECT_TRUE(set_to_seven(absl::OkStatus()).ok());
  EXPECT_THAT(told, testing::ElementsAre(7, 7));
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
        EXPECT_GT(settings.Get(&Options::max_clients), seen);
        seen = settings.Get(&Options::max_clients);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(settings.Get(&Options::max_clients), kThreads * kChanges);
  EXPECT_EQ(settings.All().max_clients, kThreads * kChanges);
}

}  // namespace
}  // namespace weir
