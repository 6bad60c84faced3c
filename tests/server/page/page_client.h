// A client of the live page: a conversation with an admin port whose name is "weir", and which may
// have users.
//
//     PageClient client;                                            // no users
//     PageClient client("user ops on >pw ~* +@all\n");              // a users file of this text
//     client.Change("POST", "/api/policies/free", R"({"limits":["10/s"]})", Basic("ops", "pw"))
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include <nlohmann/json.hpp>

#include "core/base/check.h"
#include "core/base/status.h"
#include "tests/support/http_conversation.h"
#include "tests/support/temporary_directory.h"

namespace weir {

// The field that logs a user in.
[[nodiscard]] inline std::string Basic(std::string_view user, std::string_view password) {
  return absl::StrCat("Authorization: Basic ",
                      absl::Base64Escape(absl::StrCat(AbslView(user), ":", AbslView(password))),
                      "\r\n");
}

class PageClient {
 public:
  explicit PageClient(std::string_view users = "") : PageClient(users, false) {}
  // A client of a server that lets RL.ALLOW say AT.
  static PageClient WithExplicitTime() { return PageClient("", true); }

  [[nodiscard]] HttpTestServer& server() { return conversation_->server(); }
  [[nodiscard]] HttpConversation& http() { return *conversation_; }

  std::string Get(std::string_view target, std::string_view fields = {}) {
    return conversation_->Get(target, fields);
  }
  std::string Post(std::string_view target, std::string_view body, std::string_view fields = {}) {
    return conversation_->Post(target, body, fields);
  }
  // As the page sends a change.
  std::string Change(std::string_view method, std::string_view target, std::string_view body,
                     std::string_view fields) {
    return Send(method, target, body,
                absl::StrCat("X-Weir: 1\r\nSec-Fetch-Site: same-origin\r\n", AbslView(fields)));
  }
  // With a body of JSON, unless it is empty.
  std::string Send(std::string_view method, std::string_view target, std::string_view body,
                   std::string_view fields) {
    std::string head(fields);
    if (!body.empty()) {
      absl::StrAppend(&head, "Content-Type: application/json\r\nContent-Length: ", body.size(),
                      "\r\n");
    }
    return conversation_->Request(method, target, head, body);
  }

  // Runs a command as a client of the Redis protocol; the reply in the short form.
  std::string Run(std::string_view line) {
    Conversation redis(server());
    return redis.Show(line);
  }
  std::string Call(const std::vector<std::string>& words) {
    Conversation redis(server());
    return redis.Call(words);
  }

 private:
  PageClient(std::string_view users, bool explicit_time)
      : directory_(std::make_unique<TemporaryDirectory>()) {
    Options options = DefaultOptions();
    options.admin_hosts.names = {"weir"};
    options.allow_explicit_time = explicit_time;
    if (!users.empty()) {
      options.users_file = directory_->Write("users", users);
    }
    auto server = std::make_unique<HttpTestServer>(
        options, LimiterOptions{.secret = TestServer::kSecret, .time_is_ordered = !explicit_time});
    WEIR_CHECK(server->services.access.Configure("", options.users_file).ok());
    conversation_ = std::make_unique<HttpConversation>(std::move(server), Face::kAdmin);
  }

  std::unique_ptr<TemporaryDirectory> directory_;
  std::unique_ptr<HttpConversation> conversation_;
};

// The body of a response that must be 200.
[[nodiscard]] inline nlohmann::json JsonOf(std::string_view response) {
  WEIR_CHECK(StatusOf(response) == 200);
  return nlohmann::json::parse(BodyOf(response));
}

}  // namespace weir
