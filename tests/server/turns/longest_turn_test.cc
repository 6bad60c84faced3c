// Goal: no command and no path of HTTP keeps its thread for long, whatever is asked and whatever is
// stored. Method: a server that is as full as one connection makes it in some seconds; each row of
// the command table and each route with its largest input, without sockets; the processor's time of
// the longest turn, the least of three. A new command has a row here, or gets as many words, and as
// long ones, as a request may have. WEIR_TURNS=1 prints all times.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/limiter/hold_request.h"
#include "core/table/key_hash.h"
#include "protocol/resp_parser.h"
#include "server/commands/command_table.h"
#include "server/http/check_routes.h"
#include "server/http/http_route.h"
#include "tests/support/http_conversation.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The promise is about 10 ms in the release build, which is up to five times as fast. The holds of
// a key, up to kKeyHoldsMax, are settled and forgotten in one go: that takes 11 to 12 ms there.
#ifdef NDEBUG
constexpr Nanos kTurnMax = milliseconds{10};
constexpr Nanos kManyHoldsMax = milliseconds{20};
#else
constexpr Nanos kTurnMax = milliseconds{40};
constexpr Nanos kManyHoldsMax = milliseconds{120};
#endif

constexpr int kBuckets = 100'000;
constexpr int kHolds = 60'000;  // of one key
constexpr int kClients = 10'000;
constexpr int kUsers = 3'000;
constexpr int kPolicies = 5'000;
constexpr int kOverrides = 10'000;
constexpr int kCountedLimits = 4'096;

std::string Request(const std::vector<std::string>& words) { return RespRequest(words); }
std::string Request(std::string_view line) {
  const std::vector<std::string> words = absl::StrSplit(AbslView(line), ' ');
  return RespRequest(words);
}

// "1000/d 1001/d ..."
std::vector<std::string> Limits(std::size_t count) {
  std::vector<std::string> limits;
  for (std::size_t i = 0; i < count; ++i) limits.push_back(absl::StrCat(1000 + i, "/d"));
  return limits;
}

// The command's name, and these words.
std::string Call(std::string_view line, const std::vector<std::string>& more) {
  std::vector<std::string> words = absl::StrSplit(AbslView(line), ' ');
  words.insert(words.end(), more.begin(), more.end());
  return Request(words);
}

std::vector<std::string> Many(std::size_t count, std::string_view prefix) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < count; ++i) words.push_back(absl::StrCat(AbslView(prefix), i));
  return words;
}

std::string Repeated(std::size_t count, const std::string& request) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += request;
  return all;
}

std::string InTransaction(std::size_t count, const std::string& request) {
  return Request("MULTI") + Repeated(count, request) + Request("EXEC");
}

Options FullOptions() {
  Options options = DefaultOptions();
  options.metrics_max_limits = kCountedLimits;
  return options;
}

// A server that is full.
class Full {
 public:
  Full() : server_(FullOptions()) {
    AddUsers();
    AddPolicies();
    AddBuckets();
    AddHolds("held", 3'000'000);
    server_.http.checks.Replace(*ParseCheckRoutes("[api]\nkey = \"held\"\nlimits = [\"9/h\"]\n",
                                                  "c.toml", [](std::string_view) { return true; }));
    for (int i = 0; i < kClients; ++i) {
      records_.push_back(server_.services.clients.Add(absl::StrCat("10.0.0.1:", i), "10.0.0.2:1", 7,
                                                      server_.clock.HostNow()));
    }
    for (int i = 0; i < 4; ++i) {
      auto listener = std::make_unique<Conversation>(server_);
      listener->Call({"AUTH", absl::StrCat("app", i), absl::StrCat("secret", i)});
      for (int j = 0; j < 64; ++j) {
        listener->Call({"PSUBSCRIBE", absl::StrCat("*", std::string(55, 'a'), i, "b", j)});
      }
      listeners_.push_back(std::move(listener));
    }
  }
  ~Full() {
    for (const auto& record : records_) server_.services.clients.Remove(*record);
  }

  HttpTestServer& server() { return server_; }

  // Opens holds of the key, of one limit each. `ttl_ms` of holds that expire is short.
  void AddHolds(std::string_view key, int ttl_ms) {
    Conversation client(server_);
    std::string requests;
    for (int i = 0; i < kHolds; ++i) {
      requests += Request(
          absl::StrCat("RL.RESERVE ", AbslView(key), " 100000,held TTL ", ttl_ms, " HOLD h", i));
      if (requests.size() < 60'000) continue;
      client.Send(requests);
      requests.clear();
    }
    client.Send(requests);
  }

 private:
  void AddUsers() {
    std::string users = "user default on nopass ~* &* +@all\n";
    for (int i = 0; i < kUsers; ++i) {
      absl::StrAppend(&users, "user app", i, " on >secret", i, " ~app", i,
                      ":* &* +@limit +psubscribe\n");
    }
    WEIR_CHECK(server_.services.access.Configure("", directory_.Write("users", users)).ok());
  }
  void AddPolicies() {
    Conversation client(server_);
    for (int i = 0; i < kPolicies; ++i) {
      client.Run(absl::StrCat("RL.POLICY SET p", i, " ", i + 1, "/h,name=hour 1000/d"));
    }
    for (int i = 0; i < kOverrides; ++i) {
      client.Run(absl::StrCat("RL.POLICY OVERRIDE p0 u", i, " 5/h"));
    }
  }
  void AddBuckets() {
    Conversation client(server_);
    for (int i = 0; i < kBuckets; ++i) {
      client.Call({"RL.ALLOW", absl::StrCat("b", i), "1000/d"});
    }
    for (int i = 0; i < kCountedLimits; ++i) {
      client.Call({"RL.ALLOW", "wide", absl::StrCat(i + 1, "/h")});
    }
    client.Run("CONFIG SET slowlog-log-slower-than 0");
    for (int i = 0; i < 200; ++i) client.Call(Many(100, std::string(200, 'x')));
    for (int i = 0; i < 200; ++i) {
      client.Call({"AUTH", absl::StrCat("nobody", i), "wrong"});
    }
    client.Run("CONFIG SET slowlog-log-slower-than 10000");
  }

  TemporaryDirectory directory_;
  HttpTestServer server_;
  std::vector<std::shared_ptr<ClientRecord>> records_;
  std::vector<std::unique_ptr<Conversation>> listeners_;
};

// A large input of a command or path.
struct Row {
  std::string name;
  std::string input;
  std::function<void(Full&)> set_up = {};  // before each try
  Nanos most = kTurnMax;
};

// "a0 1000/h AND a1 1000/h ...": 64 keys.
std::string ManyKeys() {
  std::string keys;
  for (int i = 0; i < 64; ++i) absl::StrAppend(&keys, i ? " AND a" : "a", i, " 1000/h");
  return keys;
}

// Commands about limits, whose work depends on what is stored.
std::vector<Row> LimitRows() {
  const std::vector<std::string> limits = Limits(64);
  const auto of_64 = [&](std::string_view line) { return Call(line, limits); };
  const auto of_64_then = [&](std::string_view line, std::string_view end) {
    return Request(
        absl::StrCat(AbslView(line), " ", absl::StrJoin(limits, " "), " ", AbslView(end)));
  };
  const auto expire = [](Full& full) {
    full.AddHolds("due", 1'000);
    full.server().clock.Advance(seconds{2});
  };
  const auto reserve = [](Full& full) {
    Conversation client(full.server());
    client.Run("RL.RESERVE " + ManyKeys() + " HOLD wide TTL 100000");
  };
  const std::string keys = absl::StrJoin(Many(64, "a"), " AND ");
  return {
      {"RL.ALLOW", Repeated(64, of_64("RL.ALLOW held"))},
      {"RL.ALLOW", Repeated(64, Request("RL.ALLOW " + ManyKeys()))},
      {"RL.ALLOW", Request("RL.ALLOW due 1000/h"), expire, kManyHoldsMax},
      {"RL.CHARGE", Repeated(64, of_64("RL.CHARGE held"))},
      {"RL.REFUND", Repeated(64, of_64("RL.REFUND held"))},
      {"RL.PEEK", Repeated(64, of_64("RL.PEEK held"))},
      {"RL.PEEK", Request("RL.PEEK due 1000/h"), expire, kManyHoldsMax},
      {"RL.PEEK", InTransaction(60, of_64("RL.PEEK held"))},
      {"RL.PEEK", InTransaction(200, Request("RL.PEEK held 100000,held"))},
      {"RL.TAKE", Repeated(64, of_64_then("RL.TAKE held", "UPTO 1000"))},
      {"RL.WAIT", Repeated(64, of_64_then("RL.WAIT held", "TIMEOUT 1"))},
      {"RL.RESERVE", Repeated(64, of_64_then("RL.RESERVE own", "HOLD h TTL 100000"))},
      {"RL.COMMIT", Request("RL.COMMIT " + ManyKeys() + " HOLD wide"), reserve},
      {"RL.CANCEL", Request("RL.CANCEL " + keys + " HOLD wide"), reserve},
      {"RL.INSPECT", Repeated(10, Request("RL.INSPECT wide"))},
      {"RL.INSPECT", Repeated(10, Request("RL.INSPECT held HOLDS"))},
      {"RL.INSPECT", InTransaction(60, Request("RL.INSPECT held HOLDS"))},
      {"RL.STATS", Repeated(4, Request("RL.STATS"))},
      {"RL.TOP", Repeated(64, Request("RL.TOP 1000"))},
      {"RL.POLICY|LIST", Repeated(4, Request("RL.POLICY LIST"))},
      {"RL.POLICY|OVERRIDE", Repeated(64, of_64("RL.POLICY OVERRIDE p0 u1"))},
      {"RL.POLICY|OVERRIDES", Repeated(4, Request("RL.POLICY OVERRIDES p0"))},
  };
}

// The commands of Redis whose work depends on what is stored.
std::vector<Row> RedisRows() {
  const std::vector<std::string> keys = Many(1000, "b");
  const std::vector<std::string> wide(1000, "wide");
  return {
      {"EXISTS", Call("EXISTS", keys)},
      {"EXISTS", Call("EXISTS", wide)},
      {"TTL", Repeated(64, Request("TTL wide"))},
      {"PTTL", Repeated(64, Request("PTTL held"))},
      {"TYPE", Repeated(64, Request("TYPE wide"))},
      {"DBSIZE", Repeated(4, Request("DBSIZE"))},
      {"WATCH", Call("WATCH", wide)},
      {"EXEC", Call("WATCH", keys) + InTransaction(1000, Request("RL.ALLOW k 1000/h"))},
      {"INFO", Repeated(64, Request("INFO everything"))},
      {"CLIENT|LIST", Repeated(2, Request("CLIENT LIST"))},
      {"CLIENT|KILL", Repeated(2, Request("CLIENT KILL ADDR 1.2.3.4:5"))},
      {"CLIENT|KILL", Repeated(2, Request("CLIENT KILL USER app9"))},
      {"MEMORY|STATS", Repeated(64, Request("MEMORY STATS"))},
      {"MEMORY|USAGE", Repeated(64, Request("MEMORY USAGE wide"))},
      {"LATENCY|HISTOGRAM", Repeated(64, Request("LATENCY HISTOGRAM"))},
      {"SLOWLOG|GET", Repeated(8, Request("SLOWLOG GET -1"))},
      {"ACL|LIST", Repeated(2, Request("ACL LIST"))},
      {"ACL|USERS", Repeated(2, Request("ACL USERS"))},
      {"ACL|LOG", Repeated(8, Request("ACL LOG 128"))},
      {"ACL|CAT", Repeated(64, Request("ACL CAT limit"))},
      {"CONFIG|GET", Repeated(8, Call("CONFIG GET", Many(900, "*a*")))},
      {"COMMAND", Repeated(8, Request("COMMAND"))},
      {"COMMAND|DOCS", Repeated(8, Request("COMMAND DOCS"))},
      {"COMMAND|LIST", Repeated(8, Request("COMMAND LIST FILTERBY PATTERN *a*b*c*d*"))},
      {"PUBLISH", Repeated(64, Call("PUBLISH", {std::string(512, 'a'), "x"}))},
      {"PUBSUB|CHANNELS", Repeated(64, Request("PUBSUB CHANNELS *a*b*c*d*"))},
      {"MULTI", Request("MULTI") + Repeated(4000, Request("PING"))},
  };
}

// Commands that take away much of what is stored, the most at last. Without a set-up they have one
// try.
std::vector<Row> EmptyingRows() {
  const auto hold = [](Full& full) { full.AddHolds("held", 3'000'000); };
  const auto add_policy = [](Full& full) {
    Conversation client(full.server());
    client.Run("RL.POLICY SET p0 9/h,name=hour");
    for (int i = 0; i < kOverrides; ++i) {
      client.Run(absl::StrCat("RL.POLICY OVERRIDE p0 u", i, " 5/h"));
    }
    for (int i = 0; i < 1000; ++i) client.Run(absl::StrCat("RL.ALLOW o", i, " @p0"));
  };
  return {
      {"RL.POLICY|SET", Request("RL.POLICY SET p0 99/h,name=hour TRIM"), add_policy},
      {"RL.POLICY|DEL", Request("RL.POLICY DEL p0"), add_policy},
      {"RL.RESET", Request("RL.RESET held"), hold, kManyHoldsMax},
      {"DEL", Request("DEL held"), hold, kManyHoldsMax},
      {"UNLINK", Call("UNLINK", Many(1000, "b"))},
      {"FLUSHALL", Request("FLUSHALL")},
  };
}

// The end of the server, and a file that a server reads on a thread of its own.
bool IsElsewhere(std::string_view name) { return name == "SHUTDOWN" || name == "ACL|LOAD"; }

// As many words as it may have, and the longest ones.
std::string LargestWords(const CommandSpec& spec) {
  const std::vector<std::string> names = absl::StrSplit(AbslView(spec.name), '|');
  const auto most = static_cast<std::size_t>(kRespCaps.args_max);
  const auto words_up_to = [&](std::size_t count) {
    std::vector<std::string> words = names;
    while (words.size() < count) words.push_back(absl::StrCat("k", words.size()));
    return words;
  };
  std::vector<std::string> long_words = words_up_to(spec.arity.min);
  if (long_words.size() > names.size()) {
    long_words.back() = std::string(static_cast<std::size_t>(kRespCaps.arg_bytes_max), 'a');
  }
  return Request(words_up_to(std::min(spec.arity.max, most))) + Request(long_words);
}

class LongestTurnTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { full_ = new Full; }
  static void TearDownTestSuite() {
    delete full_;
    full_ = nullptr;
  }

  // `ask` returns the longest turn of a new client.
  static void Expect(std::string_view name, const std::function<Nanos()>& ask,
                     Nanos most = kTurnMax, int tries = 3) {
    Nanos longest = Nanos::max();
    for (int i = 0; i < tries; ++i) longest = std::min(longest, ask());
    EXPECT_LE(longest, most) << name;
    if (std::getenv("WEIR_TURNS")) {
      std::cout << longest.count() / 1000 << " us  " << name << "\n";
    }
  }

  static Full* full_;
};

Full* LongestTurnTest::full_ = nullptr;

// --- HTTP ---

nlohmann::json LargestQuestion(std::string_view key) {
  return {{"key", key}, {"limits", Limits(64)}, {"details", true}};
}

std::string Batch() {
  nlohmann::json batch;
  for (int i = 0; i < 1000; ++i) batch["requests"].push_back(LargestQuestion("held"));
  return batch.dump();
}

std::string Pipeline() {
  nlohmann::json commands;
  for (int i = 0; i < 1000; ++i) commands.push_back({"RL.INSPECT", "held", "HOLDS"});
  return commands.dump();
}

std::string Simulation() {
  nlohmann::json simulation;
  for (int i = 0; i < 64; ++i) {
    simulation["limits"].push_back(absl::StrCat("9/day,from=", absl::Dec(i / 60, absl::kZeroPad2),
                                                ":", absl::Dec(i % 60, absl::kZeroPad2)));
  }
  for (std::int64_t i = 0; i < 156; ++i) {
    simulation["arrivals_ms"].push_back(i * (365 * 86'400'000LL / 156));
  }
  return simulation.dump();
}

// The bodies of the paths that take one, and longer targets; else a path is asked for as it is.
struct PathRow {
  Face face;
  std::string target;
  std::string body = {};  // empty: GET
};

std::vector<PathRow> PathRows() {
  const std::string question = LargestQuestion("held").dump();
  nlohmann::json taking = LargestQuestion("held");
  taking["upto"] = 1000;
  nlohmann::json reserving = LargestQuestion("own");
  reserving["hold"] = "h";
  reserving["ttl_ms"] = 100'000;
  std::string check = "/check?key=held";
  for (const std::string& limit : Limits(64)) absl::StrAppend(&check, "&limit=", limit);
  return {
      {Face::kHttp, check},
      {Face::kHttp, "/check/api"},
      {Face::kHttp, "/v1", R"(["RL.INSPECT","held","HOLDS"])"},
      {Face::kHttp, "/v1/command", R"(["RL.INSPECT","wide"])"},
      {Face::kHttp, "/v1/command", R"(["CLIENT","LIST"])"},
      {Face::kHttp, "/v1/allow", question},
      {Face::kHttp, "/v1/batch", Batch()},
      {Face::kHttp, "/v1/charge", question},
      {Face::kHttp, "/v1/peek", question},
      {Face::kHttp, "/v1/pipeline", Pipeline()},
      {Face::kHttp, "/v1/refund", question},
      {Face::kHttp, "/v1/reserve", reserving.dump()},
      {Face::kHttp, "/v1/commit", reserving.dump()},
      {Face::kHttp, "/v1/cancel", R"({"key":"held","hold":"h"})"},
      {Face::kHttp, "/v1/take", taking.dump()},
      {Face::kAdmin, "/metrics"},
      {Face::kAdmin, "/api/key?key=wide"},
      {Face::kAdmin, "/api/key?key=held"},
      {Face::kAdmin, "/api/limits"},
      {Face::kAdmin, "/api/peek", question},
      {Face::kAdmin, "/api/policies/"},
      {Face::kAdmin, "/api/policies/p0"},
      {Face::kAdmin, "/api/simulate", Simulation()},
      {Face::kAdmin, "/api/top"},
      {Face::kAdmin, "/api/key/reset?key=wide", "{}"},
  };
}

TEST_F(LongestTurnTest, OfEachPath) {
  const std::vector<PathRow> rows = PathRows();
  for (const Face face : {Face::kHttp, Face::kAdmin}) {
    for (const HttpRoute& route : HttpRoutes(face)) {
      std::vector<PathRow> own;
      for (const PathRow& row : rows) {
        if (FindHttpRoute(row.face, row.target.substr(0, row.target.find('?'))) == &route) {
          own.push_back(row);
        }
      }
      EXPECT_TRUE(route.methods != "POST" || !own.empty()) << route.path << " needs a row";
      if (own.empty()) own.push_back({face, std::string(route.path)});
      for (const PathRow& row : own) {
        Expect(absl::StrCat(row.target.substr(0, 60)), [&] {
          HttpConversation client(full_->server(), face);
          const std::string response =
              row.body.empty() ? client.Get(row.target) : client.Post(row.target, row.body);
          EXPECT_NE(response, "") << row.target;
          return client.longest_turn();
        });
      }
    }
  }
}

TEST_F(LongestTurnTest, OfEachCommandWithAsManyWords) {
  for (const CommandSpec& spec : CommandTable()) {
    if (IsElsewhere(spec.name)) continue;
    Expect(spec.name, [&] {
      Conversation client(full_->server());
      client.Send(LargestWords(spec));
      return client.longest_turn();
    });
  }
}

// Two keys with many holds that have expired: a call about both settles some, and may ask to be
// tried again.
TEST_F(LongestTurnTest, OfRequestsThatSettleTheHoldsOfManyKeys) {
  for (const std::string& request :
       {Request("RL.PEEK due0 1000/h AND due1 1000/h"), Request("EXISTS due0 due1"),
        Request("DEL due0 due1"), InTransaction(1, Request("RL.ALLOW due0 1000/h AND due1 1000/h")),
        Request("MULTI") + Request("RL.PEEK due0 9/h") + Request("RL.PEEK due1 9/h") +
            Request("EXEC"),
        Request("WATCH due0 due1")}) {
    full_->AddHolds("due0", 1'000);
    full_->AddHolds("due1", 1'000);
    full_->server().clock.Advance(seconds{2});
    Conversation client(full_->server());
    int tries = 1;
    while (client.Send(request).find("try again") != std::string::npos && tries < 10) ++tries;
    EXPECT_LT(tries, 5) << request;
    EXPECT_LE(client.longest_turn(), kManyHoldsMax) << request;
  }
}

// The last test: its last rows empty the server.
TEST_F(LongestTurnTest, OfEachCommandAboutWhatIsStored) {
  std::vector<Row> rows = LimitRows();
  for (Row& row : RedisRows()) rows.push_back(std::move(row));
  const std::size_t kept = rows.size();
  for (Row& row : EmptyingRows()) rows.push_back(std::move(row));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    EXPECT_NE(FindCommand(row.name), nullptr) << row.name;
    const auto ask = [&] {
      if (row.set_up) row.set_up(*full_);
      Conversation client(full_->server());
      const std::string replies = client.Send(row.input);
      EXPECT_NE(replies, "") << row.name;
      EXPECT_EQ(replies.find("-ERR"), std::string::npos) << row.name << replies.substr(0, 200);
      return client.longest_turn();
    };
    const bool is_emptying = i >= kept && !row.set_up;
    Expect(absl::StrCat(row.name, ", ", row.input.size(), " bytes"), ask, row.most,
           is_emptying ? 1 : 3);
  }
}

}  // namespace
}  // namespace weir
