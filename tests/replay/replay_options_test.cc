// Goal: the command line says what to replay, and a wrong one gets an error that names the word.
// Method: good lines and each kind of bad line.
#include "replay/replay_options.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<ReplayCommandLine> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "weir-replay");
  return ParseReplayCommandLine(static_cast<int>(words.size()), words.data());
}

std::string ErrorOf(const std::vector<const char*>& words) {
  return std::string(Parse(words).status().message());
}

TEST(ReplayOptionsTest, GoodLines) {
  const ReplayOptions plain = Parse({"--ask", "{key} 1/s", "access.log"})->options;
  EXPECT_EQ(plain.log, "access.log");
  EXPECT_EQ(plain.format, std::nullopt) << "the log tells it";
  EXPECT_THAT(plain.asks, ElementsAre("{key} 1/s"));
  EXPECT_EQ(plain.slack, std::chrono::seconds{5});
  EXPECT_EQ(plain.ipv6_bits, std::nullopt);
  EXPECT_EQ(plain.key, "");
  EXPECT_FALSE(plain.fit.has_value());
  EXPECT_FALSE(plain.json);

  const ReplayOptions all = Parse({"--csv", "--columns", "key,x,time", "--ask", "{key} 1/s",
                                   "--ask", "{key} @free", "--policies", "p.toml", "--fit", "99.95",
                                   "--slack", "0.5", "--max-wait", "10", "--json", "-"})
                                ->options;
  EXPECT_EQ(all.log, "-");
  EXPECT_EQ(all.format, LogFormat::kCsv);
  EXPECT_THAT(all.columns, ElementsAre("key", "x", "time"));
  EXPECT_FALSE(all.cost_is_optional);
  EXPECT_THAT(all.asks, ElementsAre("{key} 1/s", "{key} @free"));
  EXPECT_EQ(all.policies, "p.toml");
  EXPECT_EQ(all.fit, 99'950'000);
  EXPECT_EQ(all.fit_percent, "99.95");
  EXPECT_EQ(all.slack, std::chrono::milliseconds{500});
  EXPECT_EQ(all.max_wait, std::chrono::seconds{10});
  EXPECT_TRUE(all.json);
  EXPECT_EQ(Parse({"--monitor", "--ask", "{key} 1/s", "x"})->options.format, LogFormat::kMonitor);
  EXPECT_EQ(Parse({"--ipv6", "56", "--ask", "{key} 1/s", "x"})->options.ipv6_bits, 56);
}

TEST(ReplayOptionsTest, FieldsOfJson) {
  const ReplayOptions all =
      Parse({"--json-fields", "cost=usage.total,key=request.headers.X-Key,time=ts", "--ipv6", "56",
             "--ask", "{key} 1/s", "x"})
          ->options;
  EXPECT_EQ(all.format, LogFormat::kJson);
  EXPECT_EQ(all.json_fields.time, "ts");
  EXPECT_EQ(all.json_fields.key, "request.headers.X-Key");
  EXPECT_EQ(all.json_fields.cost, "usage.total");
  const ReplayOptions one = Parse({"--json-fields", "key=a=b", "--ask", "{key} 1/s", "x"})->options;
  EXPECT_EQ(one.json_fields.key, "a=b");
  EXPECT_EQ(one.json_fields.time, "");
}

TEST(ReplayOptionsTest, OneKeyForAllRequests) {
  const ReplayOptions csv = Parse({"--csv", "--key", "all", "--ask", "{key} 1/s", "x"})->options;
  EXPECT_EQ(csv.key, "all");
  EXPECT_THAT(csv.columns, ElementsAre("time", "cost"));
  EXPECT_TRUE(csv.cost_is_optional);
  const ReplayOptions columns =
      Parse({"--csv", "--key", "all", "--columns", "x,time", "--ask", "{key} 1/s", "x"})->options;
  EXPECT_THAT(columns.columns, ElementsAre("x", "time"));
  EXPECT_EQ(
      Parse({"--key", "all", "--json-fields", "time=t", "--ask", "{key} 1/s", "x"})->options.format,
      LogFormat::kJson);
}

TEST(ReplayOptionsTest, TheHelpNamesTheFormatsAndTheCaveats) {
  const std::string help = Parse({"--help"})->print_and_exit;
  for (const char* part : {"--ask",
                           "--policies",
                           "--csv",
                           "--columns",
                           "--monitor",
                           "--fit",
                           "--slack",
                           "--json",
                           "nginx",
                           "vhost_combined",
                           "ISO 8601",
                           "a log does not",
                           "512",
                           "refused with an error",
                           "also where RL.RESET names limits",
                           "FLUSHALL",
                           "--json-fields",
                           "--key",
                           "gzip",
                           "escape=json",
                           "Caddy",
                           "Traefik"}) {
    EXPECT_THAT(help, HasSubstr(part));
  }
}

TEST(ReplayOptionsTest, BadLines) {
  const auto with = [](std::vector<const char*> words) {
    words.insert(words.end(), {"--ask", "{key} 1/s", "log"});
    return ErrorOf(words);
  };
  EXPECT_THAT(ErrorOf({"--ask", "{key} 1/s"}), HasSubstr("LOG is required"));
  EXPECT_EQ(ErrorOf({"log"}), "expected --ask once or twice, as in --ask '{key} 10/s'");
  EXPECT_EQ(with({"--ask", "a 1/s", "--ask", "b 1/s"}),
            "expected --ask once or twice, as in --ask '{key} 10/s'");
  EXPECT_EQ(with({"--nope"}), "unknown option '--nope': --help lists the options");
  EXPECT_EQ(with({"--colums", "x"}), "unknown option '--colums': did you mean --columns?");
  EXPECT_EQ(with({"--ipv=6"}), "unknown option '--ipv=6': did you mean --ipv6?");
  EXPECT_EQ(with({"--csv=a b"}), "expected no value: '--csv = a b'");
  EXPECT_EQ(with({"--jsn"}), "unknown option '--jsn': did you mean --json?");
  EXPECT_EQ(with({"--csv", "--monitor"}), "--csv and --monitor exclude each other");
  EXPECT_EQ(with({"--columns", "time,key"}), "--columns is for --csv");
  for (const char* columns :
       {"", "time", "key,cost", "time,key,key", "time,key,cost,cost", "a,b"}) {
    EXPECT_EQ(with({"--csv", "--columns", columns}),
              "--columns '" + std::string(columns) +
                  "': expected names with one time, one key and at most one cost");
  }
  for (const char* fit : {"", "0", "0.0", "100.000001", "101", "x", "99,9", "-1", "1e1"}) {
    EXPECT_THAT(with({"--fit", fit}), HasSubstr("expected a percentage above 0, up to 100"));
  }
  for (const char* bits : {"", "0", "129", "x", "64.0"}) {
    EXPECT_THAT(with({"--ipv6", bits}), HasSubstr("expected bits from 1 to 128"));
  }
  EXPECT_EQ(with({"--csv", "--ipv6", "56"}), "--ipv6 is for access logs and JSON lines");
  EXPECT_EQ(with({"--monitor", "--ipv6", "56"}), "--ipv6 is for access logs and JSON lines");
  for (const char* fields : {"", "ts", "time=", "=ts", "time=ts,", "time=ts,time=t", "user=u"}) {
    EXPECT_THAT(with({"--json-fields", fields}),
                testing::AllOf(HasSubstr("--json-fields '" + std::string(fields) + "': "),
                               HasSubstr("is not time=, key= or cost= with a field, each once")));
  }
  EXPECT_EQ(with({"--json-fields", "key=k", "--key", "all"}),
            "--json-fields 'key=k': 'key=k' beside --key");
  EXPECT_EQ(with({"--json-fields", "time=t", "--csv"}),
            "--json-fields and --csv exclude each other");
  EXPECT_EQ(with({"--json-fields", "time=t", "--monitor"}),
            "--json-fields and --monitor exclude each other");
  EXPECT_EQ(with({"--csv", "--key", ""}), "--key '': expected a key");
  EXPECT_EQ(with({"--monitor", "--key", "all"}),
            "--key is for CSV files and JSON lines: write the key into --ask, as in --ask 'all "
            "10/s'");
  for (const char* columns : {"time,key", "cost", "time,cost,cost"}) {
    EXPECT_EQ(with({"--csv", "--key", "all", "--columns", columns}),
              "--columns '" + std::string(columns) +
                  "': expected names with one time, no key beside --key and at most one cost");
  }
  for (const char* slack : {"x", "-1", "5s", "99999999"}) {
    EXPECT_THAT(with({"--slack", slack}), HasSubstr("expected seconds, as in 5 or 0.5"));
  }
  EXPECT_EQ(with({"--max-wait", "86401"}),
            "--max-wait '86401': expected seconds, as in 5 or 0.5, up to 86400");
  EXPECT_EQ(with({"--policies", ""}), "--policies '': expected a file");
  EXPECT_EQ(with({"--fit", "9", "--fit", "9"}), "--fit: expected one value");
  EXPECT_EQ(ErrorOf({"log", "--ask", "{key} 1/s", "--fit"}), "--fit: expected one value");
  EXPECT_EQ(ErrorOf({"log", "--ask"}), "--ask: expected one value");
}

TEST(ReplayOptionsTest, WordsBesideTheLogAreErrors) {
  EXPECT_EQ(Parse({"--ask", "{key} 1/s", "log", "--csv"})->options.log, "log");
  EXPECT_EQ(Parse({"--csv", "log", "--ask", "{key} 1/s"})->options.log, "log");
  const std::string expected =
      ": expected one log, and the words of an --ask in quotes, as in --ask '{key} 10/s'";
  EXPECT_EQ(ErrorOf({"--ask", "{key} 1/s", "a.log", "b.log"}),
            "unexpected 'b.log' after the log 'a.log'" + expected);
  EXPECT_EQ(ErrorOf({"a.log", "--ask", "{key} 1/s", "b.log"}),
            "unexpected 'b.log' after the log 'a.log'" + expected);
  EXPECT_EQ(ErrorOf({"--ask", "{key}", "10/s", "a.log"}),
            "unexpected 'a.log' after the log '10/s'" + expected);
}

}  // namespace
}  // namespace weir
