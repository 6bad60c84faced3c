// Goal: a replay answers what the definition of each limit does with the requests of the log, and
// leaves out and shows every line that it cannot read. Method: random logs of all commands, a
// little out of order, as the server's MONITOR shows them, compared with a set of logs of
// admissions (tests/support/model_limiter.h); small files for the rest.
#include "replay/replay.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "server/observe/monitors.h"
#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/support/model_limiter.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

absl::StatusOr<Report> ReportOf(const ReplayOptions& options) {
  return RunReplay(options, [](const ReplayProgress&) {});
}

// --- Against the model ---------------------------------------------------------------------------

struct Logged {
  std::string command;
  std::int64_t at = 0;  // ns
  std::vector<std::size_t> keys;
  std::int64_t cost = 1;
  std::int64_t number = 0;  // of UPTO or TIMEOUT

  [[nodiscard]] bool Asks() const {
    return command.starts_with("RL.") && command != "RL.REFUND" && command != "RL.RESET";
  }

  [[nodiscard]] std::string Line() const {
    std::vector<std::string> words = {command};
    for (const std::size_t key : keys) {
      if (words.size() > 1 && command != "DEL") words.emplace_back("AND");
      words.push_back(KeyNames()[key]);
      if (!Asks() && command != "RL.REFUND") continue;
      words.insert(words.end(), {"1/s", "COST", std::to_string(cost)});
    }
    if (command == "RL.TAKE") words.insert(words.end(), {"UPTO", std::to_string(number)});
    if (command == "RL.WAIT") words.insert(words.end(), {"TIMEOUT", std::to_string(number)});
    const std::vector<std::string_view> views(words.begin(), words.end());
    return Monitors::Line(Instant{Nanos{at}}, "127.0.0.1:5", views) + "\n";
  }
};

// Time in microseconds, as MONITOR has it, in steps around those of the limits.
std::vector<Logged> AnyLog(bool with_waits) {
  std::vector<Logged> log(static_cast<std::size_t>(*Between<std::int64_t>(1, 100)));
  std::int64_t now = 1'700'000'000'000'000'000;
  for (Logged& one : log) {
    constexpr std::int64_t kMilli = 1'000'000;
    now += *rc::gen::element<std::int64_t>(0, 0, 1000, 100 * kMilli, 333 * kMilli, 2000 * kMilli,
                                           60'000 * kMilli, 3'600'000 * kMilli);
    one.at = now - *rc::gen::element<std::int64_t>(0, 0, 0, 1000, 400 * kMilli);
    one.command = *rc::gen::element<std::string>("RL.ALLOW", "RL.ALLOW", "RL.ALLOW", "RL.TAKE",
                                                 "RL.CHARGE", with_waits ? "RL.WAIT" : "RL.ALLOW",
                                                 "RL.REFUND", "RL.RESET", "DEL", "FLUSHALL");
    if (one.command == "FLUSHALL") continue;
    one.keys = {static_cast<std::size_t>(*Between<std::int64_t>(0, kKeys - 1))};
    const bool has_two = one.command != "RL.RESET" && *Between(0, 3) == 0;
    if (has_two) one.keys.push_back((one.keys[0] + 1) % kKeys);
    one.cost = *rc::gen::element<std::int64_t>(1, 1, 1, 0, 2, 3);
    one.number = *rc::gen::element<std::int64_t>(1, 2, 5, 300);
  }
  return log;
}

// One ask, decided by the model.
class ModelTrial {
 public:
  ModelTrial(std::vector<Limit> limits, std::size_t count) : count_(count), model_(limits) {
    report_.limits.resize(count);
  }

  bool Replay(const Logged& logged) {
    const Instant at{Nanos{logged.at}};
    std::vector<ModelLimiter::Priced> checks;
    for (const std::size_t key : logged.keys) {
      for (std::size_t limit = 0; limit < count_; ++limit) {
        checks.push_back({{key, limit}, logged.cost});
        if (logged.command == "RL.RESET" || logged.command == "DEL") model_.Forget({key, limit});
      }
    }
    if (logged.command == "FLUSHALL") model_.Clear();
    if (logged.command == "RL.REFUND") return static_cast<void>(model_.Refund(checks, at)), false;
    if (!logged.Asks()) return false;
    Verdict verdict;
    if (logged.command == "RL.TAKE") {
      verdict = model_.Take(checks, logged.number, at).verdict;
    } else if (logged.command == "RL.CHARGE") {
      verdict = model_.ChargeAnyway(checks, at, ReplayOptions{}.max_wait).verdict;
    } else if (logged.command == "RL.WAIT") {
      verdict = model_.Reserve(checks, std::chrono::milliseconds{logged.number}, at).verdict;
    } else {
      verdict = model_.Decide(checks, at);
    }
    Count(logged, verdict);
    return verdict.allowed;
  }

  AskReport Finish() {
    for (const auto& [name, key] : keys_) {
      if (key.denials > 0) report_.worst_keys.push_back(key);
    }
    report_.keys_denied = report_.worst_keys.size();
    std::ranges::sort(report_.worst_keys, [](const DeniedKey& a, const DeniedKey& b) {
      return std::tuple(b.denials, a.first, a.key) < std::tuple(a.denials, b.first, b.key);
    });
    return report_;
  }

 private:
  void Count(const Logged& logged, const Verdict& verdict) {
    ++report_.requests;
    for (std::size_t i = 0; i < verdict.decisions.size(); ++i) {
      report_.limits[i % count_].denials += verdict.decisions[i].allowed ? 0 : 1;
    }
    if (verdict.allowed) {
      ++report_.admitted;
      for (const std::size_t key : logged.keys) streaks_[key] = 0;
      return;
    }
    ++report_.limits[verdict.limit_index % count_].decided;
    const std::size_t key = logged.keys[verdict.limit_index / count_];
    DeniedKey& denied = keys_[key];
    if (denied.denials++ == 0) {
      denied.key = KeyNames()[key];
      denied.first = Instant{Nanos{logged.at}};
    }
    denied.longest_streak = std::max(denied.longest_streak, ++streaks_[key]);
  }

  const std::size_t count_;
  ModelLimiter model_;
  AskReport report_;
  std::map<std::size_t, DeniedKey> keys_;
  std::map<std::size_t, std::uint64_t> streaks_;
};

void ExpectSame(const AskReport& got, const AskReport& want) {
  RC_ASSERT(got.requests == want.requests);
  RC_ASSERT(got.admitted == want.admitted);
  RC_ASSERT(got.keys_denied == want.keys_denied);
  RC_ASSERT(got.worst_keys == want.worst_keys);
  RC_ASSERT(got.limits.size() == want.limits.size());
  for (std::size_t i = 0; i < got.limits.size(); ++i) {
    RC_ASSERT(got.limits[i].denials == want.limits[i].denials);
    RC_ASSERT(got.limits[i].decided == want.limits[i].decided);
  }
}

const std::vector<std::string> kBuckets = {"3/s", "10/s,burst=2", "2/m,shadow", "unlimited",
                                           "5/s,burst=9"};
const std::vector<std::string> kWindows = {"3/s,fixed", "4/m,sliding", "10/s,burst=2",
                                           "9/m,sliding,shadow", "5/m,fixed,aligned"};
const std::vector<std::string> kBansAndCalendars = {
    "2/s,ban=90s", "9/day,tz=Europe/Berlin", "4/m,fixed,ban=1h", "7/week,tz=Asia/Kolkata,shadow",
    "20/month,from=3,tz=America/New_York"};

// The ask of the first `count` of these words.
std::string AskOf(const std::vector<std::string>& words, std::size_t count) {
  std::string ask = "{key}";
  for (std::size_t i = 0; i < count; ++i) ask += " " + words[i];
  return ask;
}

TEST(ReplayLawTest, AnswersAsTheDefinitionOfTheLimits) {
  CheckLaw(200, [] {
    const bool with_waits = *rc::gen::arbitrary<bool>();
    const std::vector<std::string>& words =
        with_waits ? kBuckets : *rc::gen::element(kWindows, kWindows, kBansAndCalendars);
    std::vector<Limit> limits;
    for (const std::string& word : words) limits.push_back(LimitOf(word));
    std::vector<Logged> log = AnyLog(with_waits);
    std::string text = "OK\n";
    for (const Logged& logged : log) text += logged.Line();
    const TemporaryDirectory directory;
    ReplayOptions options{.log = directory.Write("capture", text), .format = LogFormat::kMonitor};
    const std::size_t counts[] = {static_cast<std::size_t>(*Between<std::int64_t>(1, kLimits)),
                                  static_cast<std::size_t>(*Between<std::int64_t>(1, kLimits))};
    for (const std::size_t count : counts) options.asks.push_back(AskOf(words, count));

    std::ranges::stable_sort(log, {}, &Logged::at);
    ModelTrial first(limits, counts[0]);
    ModelTrial second(limits, counts[1]);
    Comparison want;
    for (const Logged& logged : log) {
      const bool a = first.Replay(logged);
      const bool b = second.Replay(logged);
      if (!logged.Asks()) continue;
      ++(a ? (b ? want.both : want.only_first) : (b ? want.only_second : want.neither));
    }
    const AskReport wants[] = {first.Finish(), second.Finish()};
    const absl::StatusOr<Report> report = ReportOf(options);
    if (wants[0].requests == 0) {
      RC_ASSERT(report.status().code() == absl::StatusCode::kFailedPrecondition);
      return;
    }
    RC_ASSERT(report->log.bad_lines == 0U);
    RC_ASSERT(report->log.requests == wants[0].requests);
    for (std::size_t i = 0; i < 2; ++i) ExpectSame(report->asks[i], wants[i]);
    RC_ASSERT(report->comparison->both == want.both);
    RC_ASSERT(report->comparison->only_first == want.only_first);
    RC_ASSERT(report->comparison->only_second == want.only_second);
    RC_ASSERT(report->comparison->neither == want.neither);
  });
}

// --- Files
// -----------------------------------------------------------------------------------------

class ReplayTest : public testing::Test {
 protected:
  absl::StatusOr<Report> Replay(std::string_view text, ReplayOptions options) {
    options.log = directory_.Write("log", text);
    return ReportOf(options);
  }
  const TemporaryDirectory directory_;
};

TEST_F(ReplayTest, BadLinesAreCountedAndTheFirstTenAreShown) {
  std::string text = "10,k\n4,late\n10.5,k\n";
  for (int i = 0; i < 20; ++i) text += "x" + std::to_string(i) + ",k\n";
  text += "11,\"k\n5.4999,late\n6,k\n12,k";
  const auto report = Replay(text, {.format = LogFormat::kCsv, .asks = {"{key} 100/s"}});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->log.lines, 27U);
  EXPECT_EQ(report->log.requests, 4U);
  EXPECT_EQ(report->log.bad_lines, 23U);
  EXPECT_EQ(report->log.begin, Instant{std::chrono::seconds{6}});
  EXPECT_EQ(report->log.end, Instant{std::chrono::seconds{12}});
  ASSERT_EQ(report->log.first_bad_lines.size(), kBadLinesShown);
  EXPECT_EQ(report->log.first_bad_lines[0].number, 2U);
  EXPECT_THAT(report->log.first_bad_lines[0].error, HasSubstr("its time is 6 s before that of"));
  EXPECT_EQ(report->log.first_bad_lines[1].number, 4U);
  EXPECT_THAT(report->log.first_bad_lines[9].error, HasSubstr("time 'x8'"));
  EXPECT_EQ(report->asks[0].admitted, 4U);
}

TEST_F(ReplayTest, LinesThatAnAskCannotAskAreBad) {
  const std::string text =
      "1.000000 [0 a] \"RL.WAIT\" \"k\" \"1/s\" \"TIMEOUT\" \"5\"\n"
      "1.000000 [0 a] \"RL.WAIT\" \"k\" \"1/s\" \"TIMEOUT\" \"60001\"\n"
      "1.000000 [0 a] \"RL.ALLOW\" \"k\" \"1/s\"\n"
      "1.000000 [0 a] \"PING\"\n";
  const auto report =
      Replay(text, {.format = LogFormat::kMonitor, .asks = {"{key} 9/s", "{key} 9/s,fixed"}});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->log.requests, 1U);
  EXPECT_EQ(report->log.passed_over, 1U);
  EXPECT_THAT(report->log.first_bad_lines,
              ElementsAre(Field(&BadLine::error, HasSubstr("a window cannot be waited for")),
                          Field(&BadLine::error, "RL.WAIT: TIMEOUT is above --max-wait")));
}

// Goal: a sliding window is over after any time. Method: two requests, so many windows apart that
// the number of the window is the earlier one again, or one beside it; for windows from the
// shortest on, and with a limit of days beside them.
TEST_F(ReplayTest, SlidingWindowsAreOverAfterAnyTime) {
  for (const std::int64_t windows : {std::int64_t{1} << 31, std::int64_t{1} << 32}) {
    for (const std::int64_t beside : {-1, 0, 1}) {
      const std::int64_t apart = windows + beside;
      const std::int64_t begin = 200'000'000;  // s, and ms after it
      const std::string text = "200000000.500,k\n" + std::to_string(begin + apart / 1000) + "." +
                               std::to_string(1500 + apart % 1000).substr(1) + ",k\n";
      const auto report = Replay(
          text, {.format = LogFormat::kCsv,
                 .asks = {"{key} 1/ms,sliding", "{key} 1/ms,sliding 9/3000d,sliding 9/3000d"}});
      ASSERT_TRUE(report.ok()) << report.status();
      for (const AskReport& ask : report->asks) EXPECT_EQ(ask.admitted, 2U) << text;
    }
  }
}

// A wrong clock must not lose the rest of the log, at least not quietly.
TEST_F(ReplayTest, AWrongTimeFarAheadIsABadLine) {
  const auto report = Replay("4000000000,k\n10,k\n11,k\n4000000000,k\n12,k\n11,k\n",
                             {.format = LogFormat::kCsv, .asks = {"{key} 1/s"}});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->log.requests, 4U);
  EXPECT_EQ(report->log.bad_lines, 2U);
  EXPECT_EQ(report->log.late_lines, 0U);
  EXPECT_EQ(report->log.end, Instant{std::chrono::seconds{12}});
  EXPECT_EQ(report->log.end_line, 5U);
  EXPECT_THAT(report->log.first_bad_lines,
              ElementsAre(Field(&BadLine::number, 1U), Field(&BadLine::number, 4U)));
  EXPECT_EQ(report->log.first_bad_lines[1].error,
            "its time is 3999999988 s after that of line 5, the next: a wrong clock?");
}

TEST_F(ReplayTest, ALogOfWhichMostLinesGoBackInTimeIsAnError) {
  const std::string half = "10,k\n4000000000,k\n4000000000,k\n12,k\n13,k\n14,k\n";
  const ReplayOptions options{.format = LogFormat::kCsv, .asks = {"{key} 1/s"}};
  const auto report = Replay(half, options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->log.late_lines, 3U);
  EXPECT_EQ(Replay(half + "15,k\n", options).status().message(),
            "'" + directory_.path() +
                "/log': 4 lines go back in time and only 3 do not: sort the log, raise --slack, "
                "5 s, or correct the time of line 3");
}

TEST_F(ReplayTest, AHeaderOfOtherColumnsEndsTheReplay) {
  const auto report =
      Replay("# a comment\nkey,time\n7,8\n", {.format = LogFormat::kCsv, .asks = {"{key} 1/s"}});
  EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(report.status().message(),
            "'" + directory_.path() +
                "/log' line 2: the header has 'key' in the place of 'time': expected the columns "
                "of the file, as in --columns key,time");
}

TEST_F(ReplayTest, AKeyOfAllRequestsIsChargedOnceARequest) {
  std::string text;
  for (int i = 0; i < 3; ++i) {
    text += "1.000000 [0 a] \"RL.ALLOW\" \"a\" \"9/h\" \"AND\" \"b\" \"9/h\" \"COST\" \"2\"\n";
  }
  const auto report = Replay(
      text, {.format = LogFormat::kMonitor, .asks = {"{key} 9/h AND all 2/h"}, .fit = kAllPercent});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->asks[0].admitted, 2U);
  EXPECT_EQ(report->asks[0].limits[1].denials, 1U);
  EXPECT_EQ(report->asks[0].limits[1].decided, 1U);
  EXPECT_THAT(report->asks[0].worst_keys, ElementsAre(Field(&DeniedKey::key, "a")));
  EXPECT_THAT(report->asks[0].fits,
              ElementsAre(Field(&FitReport::burst, 6), Field(&FitReport::burst, 3)));
}

TEST_F(ReplayTest, AdmissionsAreCountedByAlternative) {
  std::string text;
  for (int i = 0; i < 6; ++i) text += "1.0 [0 a] \"RL.ALLOW\" \"a\" \"9/h\" \"OR\" \"b\" \"8/h\"\n";
  ReplayOptions options = {.format = LogFormat::kMonitor, .asks = {"{key} 2/h OR b 3/h"}};
  const auto report = Replay(text, options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->asks[0].by_alternative, ElementsAre(2, 3));
  EXPECT_EQ(report->asks[0].limits[0].denials, 4U);
  EXPECT_EQ(report->asks[0].limits[1].decided, 1U);
  EXPECT_THAT(report->asks[0].worst_keys, ElementsAre(Field(&DeniedKey::key, "a")));
  options.fit = kAllPercent;
  EXPECT_EQ(Replay(text, options).status().message(), "--fit needs an --ask without OR");
}

// The limits of the log are replaced, so none of the ask's can be one that RL.RESET names.
TEST_F(ReplayTest, AResetOfSomeLimitsForgetsAllOfTheKey) {
  const auto report = Replay(
      "1.000000 [0 a] \"RL.ALLOW\" \"k\" \"9/h\"\n"
      "1.000000 [0 a] \"RL.RESET\" \"k\" \"9/h\"\n"
      "1.000000 [0 a] \"RL.ALLOW\" \"k\" \"9/h\"\n",
      {.format = LogFormat::kMonitor, .asks = {"{key} 1/h 1/d"}});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->log.refunds, 1U);
  EXPECT_EQ(report->asks[0].admitted, 2U);
}

TEST_F(ReplayTest, ADeletedKeyWithoutItsPlaceIsForgotten) {
  const std::string text =
      "1.000000 [0 a] \"RL.ALLOW\" \"k\" \"9/h\"\n"
      "1.000000 [0 a] \"DEL\" \"all\"\n"
      "1.000000 [0 a] \"RL.ALLOW\" \"j\" \"9/h\"\n"
      "1.000000 [0 a] \"FLUSHDB\"\n"
      "1.000000 [0 a] \"RL.ALLOW\" \"i\" \"9/h\"\n";
  const auto report = Replay(text, {.format = LogFormat::kMonitor,
                                    .asks = {"{key} 1/h AND all 1/h", "{key} 1/h AND other 1/h"},
                                    .fit = kAllPercent});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->asks[0].admitted, 3U);
  EXPECT_EQ(report->asks[0].fits[1].burst, 1);
  EXPECT_EQ(report->asks[1].admitted, 2U);
  EXPECT_EQ(report->asks[1].fits[1].burst, 2);
}

TEST_F(ReplayTest, ALogWithoutARequestIsAnErrorThatNamesTheFirstBadLine) {
  const auto report = Replay("a\n1 k\n", {.asks = {"{key} 1/s"}});
  EXPECT_EQ(report.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(report.status().message(),
            "'" + directory_.path() +
                "/log' has no request in 2 lines: line 1: expected an address, two names and [, as "
                "in 192.0.2.7 - - [10/Oct/2026:13:55:36 +0200]");
  EXPECT_EQ(Replay("", {.asks = {"{key} 1/s"}}).status().message(),
            "'" + directory_.path() + "/log' has no request in 0 lines");
  EXPECT_THAT(Replay("a", {.asks = {"{key} 1/s"}}).status().message(),
              HasSubstr("has no request in 1 line: line 1: "));
}

// --- Formats
// ---------------------------------------------------------------------------------------

// The beginning of a log may be cut, as by tail -c, so the first line that can be told decides.
TEST_F(ReplayTest, TheFirstLineThatTellsDecidesTheFormat) {
  struct FormatCase {
    std::string_view text;
    LogFormat format;
    std::uint64_t passed_over;
    std::uint64_t bad;
  };
  constexpr std::string_view kAccess =
      "192.0.2.7 - - [10/Oct/2026:13:55:36 +0200] \"GET /\" 200 9\n";
  const std::string access = "a, b\n" + std::string(kAccess) + "1,k\n";
  const FormatCase cases[] = {
      {kAccess, LogFormat::kAccess, 0, 0},
      {access, LogFormat::kAccess, 0, 2},
      {"# exported\n\ntime,key,cost\n1,k\n{\"ts\":1}\n", LogFormat::kCsv, 3, 1},
      {"\"}\n{\"ts\":1,\"remote_addr\":\"k\"}\n1,k\n", LogFormat::kJson, 0, 2},
      {"OK\n1.500000 [0 a] \"RL.ALLOW\" \"k\" \"1/s\"\n{\"ts\":1}", LogFormat::kMonitor, 1, 1},
  };
  for (const FormatCase& one : cases) {
    const auto report = Replay(one.text, {.asks = {"{key} 1/s"}});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->log.format, one.format) << one.text;
    EXPECT_EQ(report->log.requests, 1U) << one.text;
    EXPECT_EQ(report->log.passed_over, one.passed_over) << one.text;
    EXPECT_EQ(report->log.bad_lines, one.bad) << one.text;
  }
}

TEST_F(ReplayTest, AnOptionOfAnotherFormatThanTheLogsIsAnError) {
  const auto report = Replay("a\n192.0.2.7 - - [10/Oct/2026:13:55:36 +0200] \"GET /\" 200 9\n",
                             {.columns = {"time", "cost"}, .key = "all", .asks = {"{key} 1/s"}});
  EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(report.status().message(), HasSubstr("--key is for CSV files and JSON lines"));
  EXPECT_THAT(Replay("1,k\n", {.asks = {"{key} 1/s"}, .ipv6_bits = 56}).status().message(),
              HasSubstr("--ipv6 is for access logs and JSON lines"));
  const auto json = Replay("{\"ts\":1}\n{\"ts\":1}", {.key = "all", .asks = {"{key} 1/s"}});
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(json->asks[0].admitted, 1U);
}

TEST_F(ReplayTest, ALogThatIsNotReadIsNamed) {
  const auto error = [this](std::string_view text, const ReplayOptions& options) {
    return std::string(Replay(text, options).status().message());
  };
  const ReplayOptions told{.asks = {"{key} 1/s"}};
  EXPECT_THAT(error("\n<190>Oct 10 13:55:36 web nginx: 192.0.2.7\nx\n", told),
              testing::EndsWith("; this looks like syslog: use what is behind the program's name, "
                                "as in sed 's/^.* nginx: //'"));
  EXPECT_THAT(error("{\n\"ts\": 1}\n", told),
              testing::EndsWith("; this looks like JSON of several lines: use jq -c ."));
  EXPECT_THAT(error("{\"ts\":1,\"remote_addr\":\"k\"}\n",
                    {.format = LogFormat::kCsv, .asks = {"{key} 1/s"}}),
              testing::EndsWith("; this looks like JSON lines: leave out --csv"));
  EXPECT_THAT(error("1 k\n1,k\n", {.format = LogFormat::kJson, .asks = {"{key} 1/s"}}),
              testing::Not(HasSubstr("looks like")));
  EXPECT_THAT(error("1,k\n", {.format = LogFormat::kJson, .asks = {"{key} 1/s"}}),
              testing::EndsWith("; this looks like a CSV file: leave out --json-fields"));
  EXPECT_THAT(error("hello\n", told), testing::Not(HasSubstr("looks like")));
}

TEST_F(ReplayTest, PoliciesComeFromTheirFile) {
  ReplayOptions options{.format = LogFormat::kCsv, .asks = {"{key} @free"}};
  options.policies = directory_.Write("p.toml", "[policies]\nfree = [\"2/h\", \"1/d,cost=0\"]\n");
  const auto report = Replay("1,k\n2,k\n3,k\n3,j,2\n", options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->asks[0].admitted, 3U);
  EXPECT_THAT(report->asks[0].limits,
              ElementsAre(Field(&LimitReport::name, "2/h"), Field(&LimitReport::name, "1/d")));

  options.policies = directory_.Write("p.toml", "[policies]\nfree = \"2/x\"\n");
  EXPECT_THAT(Replay("1,k\n", options).status().message(), HasSubstr("p.toml:2: policy 'free'"));
  options.policies = directory_.path() + "/absent";
  EXPECT_EQ(Replay("1,k\n", options).status().code(), absl::StatusCode::kUnavailable);
}

// Buckets that are full again are dropped on the way, which changes no answer.
TEST_F(ReplayTest, ALongLogWithEverNewKeysAnswersAsAShortOne) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) {
    text += std::to_string(1'000'000 + i / 100) + ",k" + std::to_string(i / 3) + "\n";
  }
  const auto report =
      Replay(text, {.format = LogFormat::kCsv, .asks = {"{key} 2/h"}, .fit = kAllPercent});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->asks[0].requests, 200'000U);
  EXPECT_EQ(report->asks[0].admitted, 133'334U);
  EXPECT_EQ(report->asks[0].keys_denied, 66'666U);
  EXPECT_THAT(report->asks[0].fits, ElementsAre(Field(&FitReport::burst, 3)));
}

}  // namespace
}  // namespace weir
