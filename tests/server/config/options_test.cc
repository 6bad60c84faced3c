// Goal: every option can be set on the command line and in the file, and is read back as it was
// set; an error names the wrong value and what would be right. Method: a row of the table below for
// each row of the option table.
#include "server/config/options.h"

#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"

namespace weir {
namespace {

struct Example {
  std::string text;
  std::string in_file;    // as a TOML value
  std::string read_back;  // by OptionText
};

const std::map<std::string_view, std::vector<Example>> kGood = {
    {"accept-damaged-state", {{"true", "true", "true"}, {"false", "false", "false"}}},
    {"admin-bind", {{"127.0.0.1,::1", "[\"127.0.0.1\", \"::1\"]", "127.0.0.1,::1"}}},
    {"admin-hosts",
     {{"", "[]", ""}, {"Weir.Internal 0::1", "[\"weir.internal\", \"::1\"]", "weir.internal,::1"}}},
    {"admin-port", {{"0", "0", "0"}, {"65535", "65535", "65535"}}},
    {"allow-explicit-time", {{"true", "true", "true"}, {"false", "false", "false"}}},
    {"backup-dir", {{"/backups", "\"/backups\"", "/backups"}}},
    {"bind",
     {{"127.0.0.1", "\"127.0.0.1\"", "127.0.0.1"},
      {"127.0.0.1,::1", "[\"127.0.0.1\", \"::1\"]", "127.0.0.1,::1"},
      {"0.0.0.0 0:0::0", "\"0.0.0.0 0:0::0\"", "0.0.0.0,::"}}},
    {"checks", {{"checks.toml", "\"checks.toml\"", "checks.toml"}}},
    {"config", {}},  // see the tests of the file
    {"data-dir", {{"/var/lib/weir", "\"/var/lib/weir\"", "/var/lib/weir"}}},
    {"durability",
     {{"snapshot", "\"snapshot\"", "snapshot"},
      {"always", "always", "always"},
      {"none", "none", "none"}}},
    {"http-bind", {{"127.0.0.1,::1", "[\"127.0.0.1\", \"::1\"]", "127.0.0.1,::1"}}},
    {"http-port", {{"0", "0", "0"}, {"65535", "65535", "65535"}}},
    {"http-tls-port", {{"0", "0", "0"}, {"65535", "65535", "65535"}}},
    {"http-unix-socket", {{"/run/http.sock", "\"/run/http.sock\"", "/run/http.sock"}}},
    {"latency-monitor-threshold", {{"0", "0", "0"}, {"3600000", "3600000", "3600000"}}},
    {"log-format", {{"text", "\"text\"", "text"}, {"json", "json", "json"}}},
    {"log-level",
     {{"debug", "\"debug\"", "debug"},
      {"info", "info", "info"},
      {"warning", "'warning'", "warning"},
      {"error", "error", "error"}}},
    {"max-clients", {{"1", "1", "1"}, {"1000000", "1000000", "1000000"}}},
    {"max-clients-memory", {{"0", "0", "0"}, {"1mb", "\"1mb\"", "1048576"}}},
    {"max-hold",
     {{"1ms", "\"1ms\"", "1ms"}, {"30m", "\"30m\"", "1800s"}, {"24h", "\"24h\"", "86400s"}}},
    {"max-holds", {{"0", "0", "0"}, {"100000000", "100000000", "100000000"}}},
    {"max-memory",
     {{"0", "0", "0"},
      {"32mb", "\"32mb\"", "33554432"},
      {"100M", "\"100m\"", "100000000"},
      {"2GB", "\"2gb\"", "2147483648"},
      {"50000k", "\"50000K\"", "50000000"},
      {"40000kb", "\"40000KB\"", "40960000"},
      {"1g", "1000000000", "1000000000"},
      {"33554432b", "33554432", "33554432"}}},
    {"max-wait",
     {{"0", "0", "0s"},
      {"500ms", "\"500ms\"", "500ms"},
      {"90s", "\"90s\"", "90s"},
      {"2m", "\"2m\"", "120s"},
      {"24h", "\"24h\"", "86400s"}}},
    {"metrics-max-limits", {{"0", "0", "0"}, {"4096", "4096", "4096"}}},
    {"on-persist-error", {{"refuse", "refuse", "refuse"}, {"serve", "\"serve\"", "serve"}}},
    {"open-checks", {{"true", "true", "true"}, {"false", "false", "false"}}},
    {"policies", {{"limits.toml", "\"limits.toml\"", "limits.toml"}}},
    {"port", {{"0", "0", "0"}, {"65535", "65535", "65535"}}},
    {"protected-mode", {{"true", "true", "true"}, {"false", "false", "false"}}},
    {"requirepass", {{"secret", "\"secret\"", "secret"}}},
    {"reset-clock", {{"true", "true", "true"}, {"false", "false", "false"}}},
    {"slowlog-log-slower-than",
     {{"-1", "-1", "-1"}, {"0", "0", "0"}, {"3600000000", "3600000000", "3600000000"}}},
    {"slowlog-max-len", {{"0", "0", "0"}, {"10000", "10000", "10000"}}},
    {"snapshot-interval",
     {{"10ms", "\"10ms\"", "10ms"}, {"1s", "\"1s\"", "1s"}, {"1h", "\"1h\"", "3600s"}}},
    {"threads", {{"0", "0", "0"}, {"64", "64", "64"}}},
    {"timeout", {{"0", "0", "0s"}, {"5m", "\"5m\"", "300s"}, {"720h", "'720h'", "2592000s"}}},
    {"tls-auth-clients",
     {{"yes", "yes", "yes"}, {"no", "\"no\"", "no"}, {"optional", "optional", "optional"}}},
    {"tls-ca", {{"ca.pem", "\"ca.pem\"", "ca.pem"}}},
    {"tls-cert", {{"weir.pem", "\"weir.pem\"", "weir.pem"}}},
    {"tls-key", {{"weir.key", "\"weir.key\"", "weir.key"}}},
    {"tls-only", {{"true", "true", "true"}, {"false", "false", "false"}}},
    {"tls-port", {{"0", "0", "0"}, {"65535", "65535", "65535"}}},
    {"unix-socket", {{"/run/weir.sock", "\"/run/weir.sock\"", "/run/weir.sock"}}},
    {"unix-socket-perm", {{"700", "700", "700"}, {"770", "\"770\"", "770"}, {"777", "777", "777"}}},
    {"users-file", {{"weir.users", "\"weir.users\"", "weir.users"}}},
};

struct Mistakes {
  std::vector<std::string> texts;
  std::string right;
};

constexpr const char* kAddressesWanted =
    "1 to 16 different IP addresses, separated by commas, as in 127.0.0.1,::1";

const std::map<std::string_view, Mistakes> kBad = {
    {"accept-damaged-state", {{"yes", "TRUE", "1"}, "true or false"}},
    {"admin-bind", {{"", "localhost", "127.0.0.1:7382"}, kAddressesWanted}},
    {"admin-hosts",
     {{"weir:7382", "http://weir", "weir/", "[::1]", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"},
      "at most 16 host names without a port, separated by commas, as in weir.internal"}},
    {"admin-port", {{"", "-1", "65536", "http"}, "an integer from 0 to 65535"}},
    {"allow-explicit-time", {{"yes", "TRUE", "1"}, "true or false"}},
    {"backup-dir", {}},  // any text may be a path
    {"bind",
     {{"", ",", "localhost", "127.0.0.1:7379", "127.0.0.1,127.0.0.1", "::1,0::1", "256.0.0.1",
       "1.1.1.1,1.1.1.2,1.1.1.3,1.1.1.4,1.1.1.5,1.1.1.6,1.1.1.7,1.1.1.8,1.1.1.9,1.1.1.10,1.1.1.11,"
       "1.1.1.12,1.1.1.13,1.1.1.14,1.1.1.15,1.1.1.16,1.1.1.17"},
      kAddressesWanted}},
    {"checks", {}},  // any text may be a path
    {"config", {}},
    {"data-dir", {}},  // any text may be a path
    {"durability", {{"", "everysec", "Always"}, "one of snapshot, always, none"}},
    {"http-bind", {{"", "localhost", "127.0.0.1:7381"}, kAddressesWanted}},
    {"http-port", {{"", "-1", "65536", "http"}, "an integer from 0 to 65535"}},
    {"http-tls-port", {{"", "-1", "65536", "https"}, "an integer from 0 to 65535"}},
    {"http-unix-socket", {}},  // any text may be a path
    {"latency-monitor-threshold", {{"", "-1", "1s", "3600001"}, "an integer from 0 to 3600000"}},
    {"log-format", {{"", "JSON", "logfmt"}, "one of text, json"}},
    {"log-level", {{"", "loud", "INFO", "debug|info"}, "one of debug, info, warning, error"}},
    {"max-clients",
     {{"", "0", "-1", "1000001", "10k", "1.5", "010", "99999999999999999999"},
      "an integer from 1 to 1000000"}},
    {"max-clients-memory",
     {{"", "-1", "1", "1023kb", "5000gb"},
      "0, or a size from 1mb to 4096gb with a unit (kb, mb, gb)"}},
    {"max-hold",
     {{"", "0", "0s", "60", "-1s", "86401s", "25h", "1d"},
      "a time from 1ms to 86400s with a unit (ms, s, m, h)"}},
    {"max-holds", {{"", "-1", "100000001", "1M"}, "an integer from 0 to 100000000"}},
    {"max-memory",
     {{"", "mb", "1", "31mb", "5000gb", "1.5gb", "64 mb", "-64mb", "64tb", "64mib",
       "9223372036854775807gb"},
      "0, or a size from 32mb to 4096gb with a unit (kb, mb, gb)"}},
    {"max-wait",
     {{"", "60", "s", "-1s", "1.5s", "60 s", "60S", "86401s", "25h", "1d", "01s",
       "9223372036854775807h", "00"},
      "a time from 0s to 86400s with a unit (ms, s, m, h)"}},
    {"metrics-max-limits", {{"", "-1", "4097", "all"}, "an integer from 0 to 4096"}},
    {"on-persist-error", {{"", "deny"}, "one of refuse, serve"}},
    {"open-checks", {{"yes", "no", "1"}, "true or false"}},
    {"policies", {}},  // any text may be a path
    {"port", {{"", "-1", "65536", "redis", "0x1", "+1"}, "an integer from 0 to 65535"}},
    {"protected-mode", {{"yes", "no"}, "true or false"}},
    {"requirepass", {}},
    {"reset-clock", {{"yes", "1"}, "true or false"}},
    {"slowlog-log-slower-than",
     {{"", "-2", "10ms", "3600000001"}, "an integer from -1 to 3600000000"}},
    {"slowlog-max-len", {{"", "-1", "10001"}, "an integer from 0 to 10000"}},
    {"snapshot-interval",
     {{"", "0", "9ms", "3601s", "2h"}, "a time from 10ms to 3600s with a unit (ms, s, m, h)"}},
    {"threads", {{"", "65", "-1", "all"}, "an integer from 0 to 64"}},
    {"timeout",
     {{"", "60", "-1s", "721h"}, "a time from 0s to 2592000s with a unit (ms, s, m, h)"}},
    {"tls-auth-clients", {{"", "true", "YES"}, "one of yes, no, optional"}},
    {"tls-ca", {}},  // any text may be a path
    {"tls-cert", {}},
    {"tls-key", {}},
    {"tls-only", {{"yes"}, "true or false"}},
    {"tls-port", {{"", "-1", "65536"}, "an integer from 0 to 65535"}},
    {"unix-socket", {}},  // any text may be a path
    {"unix-socket-perm", {{"", "755", "0700", "u=rwx"}, "one of 700, 770, 777"}},
    {"users-file", {}},  // any text may be a path
};

absl::StatusOr<CommandLine> Parse(const std::vector<std::string>& words) {
  std::vector<const char*> arguments = {"weir-server"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  return ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
}

std::string ErrorOf(const std::vector<std::string>& words) {
  const absl::StatusOr<CommandLine> line = Parse(words);
  if (line.ok()) return "no error";
  EXPECT_EQ(line.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(StdView(line.status().message()));
}

// A file with this text, for one test.
class ConfigFile {
 public:
  explicit ConfigFile(std::string_view text) { std::ofstream(path_, std::ios::binary) << text; }
  ~ConfigFile() { std::remove(path_.c_str()); }
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  static std::string NewPath() {
    const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
    return absl::StrCat(testing::TempDir(), "/weir_options_test_", getpid(), "_", test->name());
  }
  const std::string path_ = NewPath();
};

TEST(OptionsTest, EveryRowHasExamples) {
  for (const OptionSpec& spec : OptionTable()) {
    EXPECT_TRUE(kGood.contains(spec.name)) << spec.name;
    EXPECT_TRUE(kBad.contains(spec.name)) << spec.name;
    EXPECT_TRUE(spec.summary.ends_with('.')) << spec.name;
  }
}

TEST(OptionsTest, WithoutOptionsTheDefaultsHold) {
  const Options options = DefaultOptions();
  const auto line = Parse({});
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->print_and_exit, "");
  for (const OptionSpec& spec : OptionTable()) {
    EXPECT_EQ(OptionText(spec, options), spec.fallback);
    EXPECT_EQ(OptionText(spec, line->options), spec.fallback);
  }
  EXPECT_EQ(options.bind, AddressList{"127.0.0.1"});
  EXPECT_EQ(options.port, 7379);
  EXPECT_EQ(options.max_wait, std::chrono::seconds{60});
}

TEST(OptionsTest, EveryOptionIsReadBackAsItWasSet) {
  for (const OptionSpec& spec : OptionTable()) {
    const std::string name(spec.name);
    for (const Example& example : kGood.at(spec.name)) {
      const auto line = Parse({"--" + name + "=" + example.text});
      ASSERT_TRUE(line.ok()) << line.status();
      EXPECT_EQ(OptionText(spec, line->options), example.read_back);

      const ConfigFile file(name + " = " + example.in_file + "\n");
      const auto from_file = Parse({"--config", file.path()});
      ASSERT_TRUE(from_file.ok()) << from_file.status();
      EXPECT_EQ(OptionText(spec, from_file->options), example.read_back);

      Options options = DefaultOptions();
      EXPECT_TRUE(SetOption(spec, example.read_back, options).ok());
      EXPECT_EQ(OptionText(spec, options), example.read_back);
    }
  }
}

TEST(OptionsTest, AWordIsItsEnumerator) {
  using testing::ElementsAre;
  const auto values_of = [](std::string_view name, auto field) {
    std::vector<std::remove_cvref_t<decltype(Options().*field)>> values;
    for (const Example& example : kGood.at(name)) {
      const auto line = Parse({absl::StrCat("--", AbslView(name), "=", example.text)});
      EXPECT_TRUE(line.ok()) << line.status();
      if (line.ok()) values.push_back(line->options.*field);
    }
    return values;
  };
  EXPECT_THAT(values_of("durability", &Options::durability),
              ElementsAre(Durability::kSnapshot, Durability::kAlways, Durability::kNone));
  EXPECT_THAT(values_of("log-format", &Options::log_format),
              ElementsAre(LogLineFormat::kText, LogLineFormat::kJson));
  EXPECT_THAT(values_of("log-level", &Options::log_level),
              ElementsAre(LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError));
  EXPECT_THAT(values_of("on-persist-error", &Options::on_persist_error),
              ElementsAre(OnPersistError::kRefuse, OnPersistError::kServe));
  EXPECT_THAT(values_of("tls-auth-clients", &Options::tls_auth_clients),
              ElementsAre(TlsAuthClients::kYes, TlsAuthClients::kNo, TlsAuthClients::kOptional));
  EXPECT_THAT(values_of("unix-socket-perm", &Options::unix_socket_perm),
              ElementsAre(UnixSocketPerm::kOwner, UnixSocketPerm::kGroup, UnixSocketPerm::kAll));
}

TEST(OptionsTest, EveryMistakeSaysWhatWouldBeRight) {
  for (const OptionSpec& spec : OptionTable()) {
    const auto& [texts, right] = kBad.at(spec.name);
    for (const std::string& text : texts) {
      const std::string error =
          absl::StrCat("option '", AbslView(spec.name), "': invalid value '", text.substr(0, 128),
                       text.size() > 128 ? "...'" : "'", ": must be ", right);
      Options options = DefaultOptions();
      EXPECT_EQ(SetOption(spec, text, options).message(), error);
      EXPECT_EQ(OptionText(spec, options), spec.fallback) << "a mistake changes nothing";
      if (!text.empty()) {
        EXPECT_EQ(ErrorOf({absl::StrCat("--", AbslView(spec.name), "=", text)}), error);
      }

      const ConfigFile file(absl::StrCat(AbslView(spec.name), " = \"", text, "\"\n"));
      EXPECT_EQ(ErrorOf({"--config", file.path()}), absl::StrCat(file.path(), ":1: ", error));
    }
  }
}

TEST(OptionsTest, AFlagNeedsNoValue) {
  const auto line = Parse({"--allow-explicit-time", "--port", "1"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_TRUE(line->options.allow_explicit_time);
  EXPECT_EQ(line->options.port, 1);
}

TEST(OptionsTest, AMissingValueSaysWhatWouldBeRight) {
  EXPECT_EQ(ErrorOf({"--port"}),
            "option 'port': invalid value '': must be an integer from 0 to 65535");
  EXPECT_EQ(ErrorOf({"--port", "--threads", "2"}),
            "option 'port': invalid value '': must be an integer from 0 to 65535");
}

TEST(OptionsTest, PingHasAnAddressOrThatOfTheOptions) {
  EXPECT_EQ(Parse({"--port", "1"})->ping, std::nullopt);
  EXPECT_EQ(Parse({"--ping"})->ping, "");
  const auto line = Parse({"--ping", "--port", "1"});
  EXPECT_EQ(line->ping, "");
  EXPECT_EQ(line->options.port, 1);
  EXPECT_EQ(Parse({"--ping", "localhost:2", "--port", "1"})->ping, "localhost:2");
  EXPECT_EQ(Parse({"--ping=./weir.sock"})->ping, "./weir.sock");
}

TEST(OptionsTest, UnknownWordsAreErrors) {
  EXPECT_EQ(ErrorOf({"--prot", "1"}), "unknown argument '--prot': see weir-server --help");
  for (const std::vector<std::string>& removed :
       {std::vector<std::string>{"--unclean-restart", "empty"}, {"--unclean-restart=full"}}) {
    EXPECT_THAT(ErrorOf(removed), testing::StartsWith("option 'unclean-restart' was removed: "));
  }
  EXPECT_EQ(ErrorOf({"7379"}), "unknown argument '7379': see weir-server --help");
  EXPECT_EQ(ErrorOf({"--port", "1", "2"}), "unknown argument '2': see weir-server --help");
  EXPECT_EQ(ErrorOf({"-p", "1"}), "unknown argument '-p': see weir-server --help");
}

TEST(OptionsTest, TheLastOfTwoCounts) {
  const auto line = Parse({"--port", "1", "--port=2"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->options.port, 2);
}

TEST(OptionsTest, TheCommandLineWinsOverTheFile) {
  const ConfigFile file(
      "# Where to listen\n"
      "port = 1  # by habit\n"
      "\n"
      "threads = 3\n");
  const auto line = Parse({"--port", "2", "--config", file.path()});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->options.port, 2);
  EXPECT_EQ(line->options.threads, 3);
  EXPECT_EQ(line->options.config, file.path());
}

TEST(OptionsTest, TheFilesMistakesNameTheLine) {
  const auto error_in = [](std::string_view text) {
    const ConfigFile file(text);
    const std::string error = ErrorOf({"--config", file.path()});
    EXPECT_TRUE(error.starts_with(file.path() + ":")) << error;
    return error.substr(std::min(error.size(), file.path().size()));
  };
  EXPECT_EQ(error_in("prot = 1\n"), ":1: unknown option 'prot': see weir-server --help");
  EXPECT_THAT(error_in("\n# old\nunclean-restart = \"full\"\n"),
              testing::StartsWith(":3: option 'unclean-restart' was removed: "));
  EXPECT_EQ(error_in("port 1\n"), ":1: unknown option 'port': see weir-server --help");
  EXPECT_EQ(error_in("port = 1\n\"prot\" = 1\n"),
            ":2: unknown option 'prot': see weir-server --help");
  EXPECT_EQ(error_in("config = \"x\"\n"), ":1: unknown option 'config': see weir-server --help");
  EXPECT_EQ(error_in("threads = 1\n[server]\nport = 1\n"),
            ":2: unknown section 'server': options belong to no section");
  EXPECT_EQ(error_in("[server]\n"), ":1: unknown section 'server': options belong to no section");
  EXPECT_EQ(error_in("\nserver.port = 1\n"),
            ":2: unknown section 'server': options belong to no section");
  EXPECT_EQ(error_in("port = 1\nthreads = 1\nport = 2\n"), ":3: option 'port': given twice");
  EXPECT_EQ(error_in("port = 1\nport = 2\n"), ":2: option 'port': given twice");
  EXPECT_EQ(error_in("port = 1\n\"port\" = 1\n"), ":2: option 'port': given twice");
  EXPECT_EQ(error_in("bind = \"127.0.0.1\"\nbind = \"::1\"\n"), ":2: option 'bind': given twice");
  EXPECT_EQ(error_in("allow-explicit-time\nallow-explicit-time  # yes\n"),
            ":2: option 'allow-explicit-time': given twice");
  EXPECT_EQ(error_in("bind = [\"127.0.0.1\",\n \"::1\"]\nport = [1, 2]\n"),
            ":3: option 'port': more than one value");
  EXPECT_EQ(error_in("port = []\n"),
            ":1: option 'port': invalid value '': must be an integer from 0 to 65535");
  EXPECT_EQ(
      error_in("bind = []\n"),
      ":1: option 'bind': invalid value '': must be 1 to 16 different IP addresses, separated "
      "by commas, as in 127.0.0.1,::1");
}

TEST(OptionsTest, AValueInQuotesMayHaveAnyCharacterOfAComment) {
  const ConfigFile file(
      "requirepass = \"se#cret\"  # a \"comment\"\n"
      "data-dir = '/var/#1, or #2'\n"
      "bind = [\"127.0.0.1\",  # the 'first'\n"
      "        \"::1\"]  # \"two\"\n"
      "users-file = it's#a comment\n");
  const auto line = Parse({"--config", file.path()});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->options.requirepass, "se#cret");
  EXPECT_EQ(line->options.data_dir, "/var/#1, or #2");
  EXPECT_EQ(line->options.bind, (AddressList{"127.0.0.1", "::1"}));
  EXPECT_EQ(line->options.users_file, "it's");
}

TEST(OptionsTest, AValueMayHaveTheQuoteThatEnclosesIt) {
  const auto password_in = [](std::string_view value) {
    Options options = DefaultOptions();
    EXPECT_TRUE(
        ApplyOptionsFile(absl::StrCat("requirepass = ", AbslView(value)), "f", options).ok());
    return options.requirepass;
  };
  EXPECT_EQ(password_in(R"("se\"#cret"  # a "comment")"), R"(se"#cret)");
  EXPECT_EQ(password_in(R"("se\", #cret"  # a "comment")"), R"(se", #cret)");
  EXPECT_EQ(password_in(R"("\"")"), R"(")");
  EXPECT_EQ(password_in(R"("cret\\"  # a "comment")"), R"(cret\\)");
  EXPECT_EQ(password_in(R"('se\"#cret'  # a 'comment')"), R"(se\"#cret)");
}

// A comment may name an option, and a list may go over several lines.
TEST(OptionsTest, AFileMayHaveCommentsAndListsOverLines) {
  const ConfigFile file(
      "# port = 1\n"
      "port = 2\n"
      "#port = 3\n"
      "bind = [\"127.0.0.1\",\n"
      "        \"::1\"]\n");
  const auto line = Parse({"--config", file.path()});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->options.port, 2);
  EXPECT_EQ(line->options.bind, (AddressList{"127.0.0.1", "::1"}));
}

TEST(OptionsTest, AFileThatCannotBeReadIsAnError) {
  EXPECT_EQ(ErrorOf({"--config", "/nonexistent/weir.toml"}),
            "option 'config': cannot read '/nonexistent/weir.toml': No such file or directory");
  EXPECT_EQ(ErrorOf({"--config", "/"}), "option 'config': cannot read '/': Is a directory");
}

TEST(OptionsTest, AFileHasABound) {
  const std::string line = "# comment\n";
  std::string text;
  while (text.size() + line.size() <= 1024 * 1024) text += line;
  const ConfigFile fits(text);
  EXPECT_TRUE(Parse({"--config", fits.path()}).ok());
  const ConfigFile too_long(text + line);
  EXPECT_EQ(ErrorOf({"--config", too_long.path()}),
            absl::StrCat("option 'config': '", too_long.path(), "' is longer than 1048576 bytes"));
}

TEST(OptionsTest, AnOptionThatNeedsAnotherSaysSo) {
  Options options = DefaultOptions();
  EXPECT_TRUE(CheckTogether(options).ok());
  options.tls_only = true;
  EXPECT_EQ(CheckTogether(options).message(), "option 'tls-only': needs a tls-port");
  options.tls_port = 7380;
  options.durability = Durability::kAlways;
  EXPECT_EQ(CheckTogether(options).message(), "option 'durability': always needs a data-dir");
  options.data_dir = "data";
  EXPECT_TRUE(CheckTogether(options).ok());
}

TEST(OptionsTest, HelpNamesEveryOption) {
  const auto help = Parse({"--help"});
  ASSERT_TRUE(help.ok());
  for (const OptionSpec& spec : OptionTable()) {
    EXPECT_NE(help->print_and_exit.find(absl::StrCat("--", AbslView(spec.name))),
              std::string::npos);
  }
  const std::string live = "CONFIG SET may change it.";
  for (const OptionSpec& spec : OptionTable()) {
    EXPECT_EQ(OptionHelp(spec).ends_with(live), spec.live) << spec.name;
  }
}

}  // namespace
}  // namespace weir
