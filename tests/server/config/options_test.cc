// Goal: every option can be set on the command line and in the file, and is read back as it was
// set; an error names the wrong value and what would be right. Method: a row of option_examples.h
// for each row of the option table.
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
#include "tests/server/config/option_examples.h"

namespace weir {
namespace {

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
    EXPECT_TRUE(kGoodOptions.contains(spec.name)) << spec.name;
    EXPECT_TRUE(kBadOptions.contains(spec.name)) << spec.name;
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
    for (const OptionExample& example : kGoodOptions.at(spec.name)) {
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
    for (const OptionExample& example : kGoodOptions.at(name)) {
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
    const auto& [texts, right] = kBadOptions.at(spec.name);
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
  EXPECT_EQ(ErrorOf({"--prot", "1"}), "unknown option '--prot': did you mean --port?");
  for (const std::vector<std::string>& removed :
       {std::vector<std::string>{"--unclean-restart", "empty"}, {"--unclean-restart=full"}}) {
    EXPECT_THAT(ErrorOf(removed), testing::StartsWith("option 'unclean-restart' was removed: "));
  }
  EXPECT_EQ(ErrorOf({"7379"}), "unknown argument '7379': see weir-server --help");
  EXPECT_EQ(ErrorOf({"--port", "1", "2"}), "unknown argument '2': see weir-server --help");
  EXPECT_EQ(ErrorOf({"-p", "1"}), "unknown argument '-p': see weir-server --help");
}

struct NameOfRedis {
  std::string name;
  std::string hint;
};

TEST(OptionsTest, NamesOfRedisAreExplained) {
  const std::vector<NameOfRedis> rows = {
      {"dir", "did you mean --data-dir?"},
      {"maxmemory", "did you mean --max-memory?"},
      {"maxclients", "did you mean --max-clients?"},
      {"aclfile", "did you mean --users-file?"},
      {"masterauth", "did you mean --primary-password?"},
      {"masteruser", "did you mean --primary-user?"},
      {"slaveof", "did you mean --replicaof?"},
      {"tls-cert-file", "did you mean --tls-cert?"},
      {"tls-key-file", "did you mean --tls-key?"},
      {"tls-ca-cert-file", "did you mean --tls-ca?"},
      {"unixsocket", "did you mean --unix-socket?"},
      {"unixsocketperm", "did you mean --unix-socket-perm?"},
      {"loglevel", "did you mean --log-level?"},
      {"logfile", "weir logs to standard error"},
      {"appendonly", "weir saves with --data-dir, as --durability says"},
      {"save", "weir saves with --data-dir, each --snapshot-interval"},
      {"daemonize", "weir stays in the foreground: systemd or a container starts it"},
      {"requirepas", "did you mean --requirepass?"},
      {"quota", "see weir-server --help"},
  };
  for (const auto& [name, hint] : rows) {
    const std::string option = "--" + name;
    EXPECT_EQ(ErrorOf({option, "1"}), "unknown option '" + option + "': " + hint);
    // What follows may be a password.
    EXPECT_EQ(ErrorOf({option + "=1"}), "unknown option '" + option + "': " + hint);
  }
  const ConfigFile file("dir = \"x\"\n");
  EXPECT_THAT(ErrorOf({"--config", file.path()}),
              testing::EndsWith(":1: unknown option 'dir': did you mean data-dir?"));
}

TEST(OptionsTest, APathAloneIsNoConfiguration) {
  EXPECT_EQ(ErrorOf({"redis.conf"}),
            "unknown argument 'redis.conf': weir-server takes no file: did you mean --config "
            "redis.conf?");
  EXPECT_THAT(ErrorOf({"/etc/weir/weir.toml"}),
              testing::EndsWith(": did you mean --config /etc/weir/weir.toml?"));
  EXPECT_EQ(ErrorOf({"my weir.toml"}),
            "unknown argument 'my weir.toml': weir-server takes no file: did you mean --config "
            "'my weir.toml'?");
  EXPECT_THAT(ErrorOf({"./a=b"}), testing::EndsWith(": did you mean --config ./a=b?"));
}

// The value may be a password, whatever it looks like.
TEST(OptionsTest, AnOptionWithoutDashesIsNamedWithoutItsValue) {
  for (const std::string value : {"secret", "/etc/secret", "secret.conf", "a=secret"}) {
    EXPECT_EQ(ErrorOf({"requirepass=" + value}),
              "unknown argument 'requirepass': did you mean --requirepass?");
    EXPECT_EQ(ErrorOf({"-requirepass=" + value}),
              "unknown argument '-requirepass': did you mean --requirepass?");
    EXPECT_EQ(ErrorOf({"requirepas=" + value}),
              "unknown argument 'requirepas': did you mean --requirepass?");
    EXPECT_EQ(ErrorOf({"masterauth=" + value}),
              "unknown argument 'masterauth': did you mean --primary-password?");
    EXPECT_EQ(ErrorOf({"pw=" + value}), "unknown argument 'pw': see weir-server --help");
  }
  EXPECT_EQ(ErrorOf({"requirepass", "secret"}),
            "unknown argument 'requirepass': did you mean --requirepass?");
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
  EXPECT_EQ(error_in("prot = 1\n"), ":1: unknown option 'prot': did you mean port?");
  EXPECT_THAT(error_in("\n# old\nunclean-restart = \"full\"\n"),
              testing::StartsWith(":3: option 'unclean-restart' was removed: "));
  EXPECT_EQ(error_in("port 1\n"), ":1: unknown option 'port': see weir-server --help");
  EXPECT_EQ(error_in("port = 1\n\"prot\" = 1\n"), ":2: unknown option 'prot': did you mean port?");
  EXPECT_EQ(error_in("config = \"x\"\n"), ":1: unknown option 'config': see weir-server --help");
  EXPECT_EQ(error_in("threads = 1\n[server]\nport = 1\n"),
            ":2: unknown section 'server': options belong to no section");
  EXPECT_EQ(error_in("[server]\n"), ":1: unknown section 'server': options belong to no section");
  EXPECT_EQ(error_in("\nserver.port = 1\n"),
            ":2: unknown section 'server': options belong to no section");
  EXPECT_EQ(error_in(".port = 1\n"), ":1: unknown section '': options belong to no section");
  EXPECT_EQ(error_in("port. = 1\n"), ":1: unknown section 'port': options belong to no section");
  EXPECT_EQ(error_in("[[]]\n"), ":1: unknown section '[]': options belong to no section");
  EXPECT_EQ(error_in("requirepass se.cret\n"),
            ":1: unknown option 'requirepass': see weir-server --help");
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
  EXPECT_EQ(password_in(R"(se\"cret)"), R"(se"cret)");
}

// Goal: a value has the bytes that stand in the file, also where a version of CLI11 knows escapes,
// quotes or brackets of its own.
TEST(OptionsTest, AValueIsWhatStandsInTheFile) {
  for (const std::string_view value : {R"(a\qb)", R"(\n\t\u0041)", R"(cret\\)", "`cret`", "B(cret)",
                                       "(a", "{a", "<a", "[a", "\x01",
                                       "a\x01"
                                       "b",
                                       "\xff\xfe"}) {
    for (const std::string_view quote : {"\"", "'"}) {
      Options options = DefaultOptions();
      const std::string file = absl::StrCat("requirepass = ", AbslView(quote), AbslView(value),
                                            AbslView(quote), "\nport = 1\n");
      EXPECT_TRUE(ApplyOptionsFile(file, "f", options).ok()) << file;
      EXPECT_EQ(options.requirepass, value);
      EXPECT_EQ(options.port, 1) << file;
    }
  }
  for (const std::string_view value : {R"("""cret""")", R"('''cret''')", R"("""cret)"}) {
    Options options = DefaultOptions();
    const std::string file = absl::StrCat("requirepass = ", AbslView(value), "\nport = 1\n");
    EXPECT_TRUE(ApplyOptionsFile(file, "f", options).ok()) << file;
    EXPECT_EQ(options.requirepass, value) << "three quotes are no mark";
    EXPECT_EQ(options.port, 1) << file;
  }
  Options options = DefaultOptions();
  EXPECT_TRUE(
      ApplyOptionsFile("requirepass = `cret`\\\nedge-of = a:1,[::1]:2\n", "f", options).ok());
  EXPECT_EQ(options.requirepass, "`cret`\\");
  ASSERT_EQ(options.edge_of.servers.size(), 2U);
  EXPECT_EQ(options.edge_of.servers[1].host, "::1");
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

TEST(OptionsTest, AnOptionGivenTwiceOnTheCommandLineIsAnError) {
  for (const OptionSpec& spec : OptionTable()) {
    const std::string flag = absl::StrCat("--", AbslView(spec.name));
    const std::string error = absl::StrCat("option '", AbslView(spec.name), "': given twice");
    for (const OptionExample& example : kGoodOptions.at(spec.name)) {
      if (example.text.empty()) continue;
      EXPECT_EQ(ErrorOf({flag + "=" + example.text, flag + "=" + example.text}), error);
    }
    if (OptionKind(spec) == "FLAG") {
      EXPECT_EQ(ErrorOf({flag, flag}), error);
    }
  }
  EXPECT_EQ(ErrorOf({"--ping", "--ping=::1"}), "option 'ping': given twice");
  EXPECT_EQ(ErrorOf({"--config=a", "--config=b"}), "option 'config': given twice");
}

TEST(OptionsTest, AByteOrderMarkIsSkipped) {
  const ConfigFile file("\xEF\xBB\xBF# a comment\nport = 1\n");
  const auto line = Parse({"--config", file.path()});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->options.port, 1);
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
  options.replication_tls = true;
  EXPECT_EQ(CheckTogether(options).message(),
            "option 'replication-tls': needs the authority of the primary's certificate: --tls-ca");
  options.tls_ca = "ca.pem";
  EXPECT_TRUE(CheckTogether(options).ok());
  options.rls_config = "rules";
  EXPECT_EQ(CheckTogether(options).message(),
            "option 'rls-config': needs an http-port, http-tls-port or http-unix-socket");
  options.http_unix_socket = "s";
  EXPECT_TRUE(CheckTogether(options).ok());
  options.rls_xds.servers = {{"gateway", 1}};
  EXPECT_EQ(CheckTogether(options).message(),
            "option 'rls-xds': does not go with rls-config: rules are from one of the two");
  options.rls_config.clear();
  EXPECT_TRUE(CheckTogether(options).ok());
  options.rls_xds.servers.push_back({"gateway", 2});
  EXPECT_EQ(CheckTogether(options).message(), "option 'rls-xds': has more than one server");
}

TEST(OptionsTest, EachPortIsOfOneOption) {
  const auto error_of = [](const std::vector<std::string>& words) {
    const auto line = Parse(words);
    return line.ok() ? std::string(StdView(CheckTogether(line->options).message()))
                     : std::string("not read");
  };
  EXPECT_EQ(error_of({"--port=0", "--http-port=7379,7381", "--admin-port=7382"}), "");
  EXPECT_EQ(error_of({"--http-port=7381,7379"}),
            "option 'http-port': port 7379 of 127.0.0.1 is that of port, too");
  EXPECT_EQ(error_of({"--http-port=8081,8080", "--http-tls-port=8080"}),
            "option 'http-tls-port': port 8080 of 127.0.0.1 is that of http-port, too");
  EXPECT_EQ(error_of({"--http-port=8081,8080", "--admin-port=8080", "--admin-bind=0.0.0.0"}),
            "option 'admin-port': port 8080 of 0.0.0.0 is that of http-port, too");
  EXPECT_EQ(error_of({"--tls-port=7379", "--tls-only=true"}), "") << "there is no other";
  EXPECT_EQ(error_of({"--http-port=7379", "--http-bind=::"}), "");
  EXPECT_EQ(error_of({"--http-port=7379", "--http-bind=10.0.0.1"}), "");
  EXPECT_EQ(error_of({"--http-port=7379", "--bind=::1,10.0.0.1", "--http-bind=::"}),
            "option 'http-port': port 7379 of :: is that of port, too");
}

TEST(OptionsTest, HelpNamesEveryOption) {
  const auto help = Parse({"--help"});
  ASSERT_TRUE(help.ok());
  for (const OptionSpec& spec : OptionTable()) {
    EXPECT_NE(help->print_and_exit.find(absl::StrCat("--", AbslView(spec.name))),
              std::string::npos);
  }
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"-h"}, {"--port", "1", "--help"}, {"--prot", "1", "--help"}, {"--help", "--port=x"}}) {
    const auto again = Parse(words);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->print_and_exit, help->print_and_exit);
  }
  EXPECT_EQ(Parse({"--help", "tls"})->print_and_exit, Parse({"--help=tls"})->print_and_exit);
  EXPECT_THAT(Parse({"--help", "tls"})->print_and_exit, testing::StartsWith("TLS "));
  EXPECT_EQ(ErrorOf({"--help", "tlss"}), "unknown group 'tlss': did you mean --help tls?");
  const std::string live = "CONFIG SET may change it.";
  for (const OptionSpec& spec : OptionTable()) {
    EXPECT_EQ(OptionHelp(spec).ends_with(live), spec.live) << spec.name;
  }
}

}  // namespace
}  // namespace weir
