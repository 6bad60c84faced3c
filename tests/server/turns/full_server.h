// A server without sockets that is as full as one connection makes it in some seconds, and requests
// as bytes.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/limiter/limiter.h"
#include "core/policies/policy.h"
#include "server/config/options.h"
#include "server/http/check_routes.h"
#include "tests/support/conversation.h"
#include "tests/support/http_conversation.h"
#include "tests/support/resp_value.h"
#include "tests/support/temporary_directory.h"

namespace weir {

inline constexpr int kBuckets = 100'000;
inline constexpr int kHolds = 60'000;  // of one key
inline constexpr int kClients = 10'000;
inline constexpr int kUsers = 3'000;
inline constexpr int kPolicies = 4'000;
inline constexpr int kFilePolicies = 4'000;
inline constexpr int kLongPolicies = 1'500;  // of as many limits as a policy may have
inline constexpr int kOverrides = 10'000;
inline constexpr int kLongOverrides = 1'000;  // of one policy, and as many limits
inline constexpr int kCountedLimits = 4'096;

inline std::string RequestOf(const std::vector<std::string>& words) { return RespRequest(words); }
inline std::string RequestOf(std::string_view line) {
  const std::vector<std::string> words = absl::StrSplit(AbslView(line), ' ');
  return RespRequest(words);
}

// "1000/d 1001/d ..."
inline std::vector<std::string> Limits(std::size_t count) {
  std::vector<std::string> limits;
  for (std::size_t i = 0; i < count; ++i) limits.push_back(absl::StrCat(1000 + i, "/d"));
  return limits;
}

// As many limits as a policy may have, with names.
inline std::string LongLimits() {
  std::string limits;
  for (std::size_t i = 0; i < kPolicyLimitsMax; ++i) {
    absl::StrAppend(&limits, i ? " " : "", 1000 + i, "/d,name=", std::string(30, 'n'), 100 + i);
  }
  return limits;
}

// The command's name, and these words.
inline std::string RequestWith(std::string_view line, const std::vector<std::string>& more) {
  std::vector<std::string> words = absl::StrSplit(AbslView(line), ' ');
  words.insert(words.end(), more.begin(), more.end());
  return RequestOf(words);
}

inline std::vector<std::string> Many(std::size_t count, std::string_view prefix) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < count; ++i) words.push_back(absl::StrCat(AbslView(prefix), i));
  return words;
}

inline std::string Repeated(std::size_t count, const std::string& request) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += request;
  return all;
}

inline std::string InTransaction(std::size_t count, const std::string& request) {
  return RequestOf("MULTI") + Repeated(count, request) + RequestOf("EXEC");
}

inline Options FullOptions(const TemporaryDirectory& directory) {
  Options options = DefaultOptions();
  std::string policies = "[policies]\n";
  for (int i = 0; i < kFilePolicies; ++i) absl::StrAppend(&policies, "f", i, " = \"9/h\"\n");
  options.policies = directory.Write("policies.toml", policies);
  options.metrics_max_limits = kCountedLimits;
  return options;
}

// One user has room for the holds of several keys.
inline LimiterOptions FullLimits() {
  LimiterOptions limits{.secret = TestServer::kSecret};
  limits.holds_max = 10'000'000;
  return limits;
}

// A server that is full.
class Full {
 public:
  Full() : server_(FullOptions(directory_), FullLimits()) {
    server_.services.run_aside = [this](std::function<void()> task, std::function<void()> done) {
      aside_.emplace_back(std::move(task), std::move(done));
      return absl::OkStatus();
    };
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

  // Sends a request of a client. The work of the side thread for it is done between turns.
  std::string Ask(Conversation& client, const std::string& request) {
    std::string replies = client.Send(request);
    while (!aside_.empty()) {
      for (const auto& [task, done] : std::exchange(aside_, {})) {
        task();
        done();
      }
      client.WakeUp();
      replies += client.Send("");
    }
    return replies;
  }

  // Opens holds of the key, of one limit each. `ttl_ms` of holds that expire is short.
  void AddHolds(std::string_view key, int ttl_ms) {
    Conversation client(server_);
    std::string requests;
    for (int i = 0; i < kHolds; ++i) {
      requests += RequestOf(
          absl::StrCat("RL.RESERVE ", AbslView(key), " 100000,held TTL ", ttl_ms, " HOLD h", i));
      if (requests.size() < 60'000) continue;
      client.Send(requests);
      requests.clear();
    }
    client.Send(requests);
  }

 private:
  void AddUsers() {
    std::string users = "user default on nopass ~* &* +@all\nuser ops on >pw ~* &* +@all\n";
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
    const std::string limits = LongLimits();
    for (int i = 0; i < kLongPolicies; ++i) {
      client.Run(absl::StrCat("RL.POLICY SET long", i, " ", limits));
      client.Run(absl::StrCat("RL.POLICY OVERRIDE long", i, " often ", limits));
    }
    for (int i = 1; i < kLongOverrides; ++i) {
      client.Run(absl::StrCat("RL.POLICY OVERRIDE long0 u", i, " ", limits));
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
  std::vector<std::pair<std::function<void()>, std::function<void()>>> aside_;
  std::vector<std::shared_ptr<ClientRecord>> records_;
  std::vector<std::unique_ptr<Conversation>> listeners_;
};

}  // namespace weir
