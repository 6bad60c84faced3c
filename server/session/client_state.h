// The state of one client of which its commands read and change parts: its user, its transaction,
// and which replies and messages it gets.
//
//     void AclWhoAmI(Call& call) { call.reply.Bulk(call.client().user()->name()); }
//
// Belongs to the thread of its session, which owns it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/instant.h"
#include "protocol/resp_parser.h"
#include "server/access/access_list.h"
#include "server/observe/client_registry.h"
#include "server/observe/news.h"
#include "server/session/transaction.h"
#include "server/session/worker.h"

namespace weir {

// The time after a wrong password for which the connection executes no commands.
inline constexpr Nanos kLoginDelay = std::chrono::milliseconds{100};

// The error of a wrong password.
inline constexpr std::string_view kWrongPassword =
    "WRONGPASS invalid username-password pair or user is disabled.";

class ClientState {
 public:
  // `parser`: of the client's requests, whose caps depend on the user.
  ClientState(Worker& worker, std::shared_ptr<ClientRecord> record, RespParser& parser);

  // --- The user ---

  // Null before the client has logged in.
  [[nodiscard]] const std::shared_ptr<const User>& user() const noexcept { return user_; }
  // The user as an introducer of limits.
  [[nodiscard]] Introducer introducer() const noexcept { return introducer_; }
  // Returns true if the client now is `user`. Otherwise it keeps its user and is paused, and the
  // access log has the failure, with `means`, the command or header. Cost: a SHA-256, for an
  // unknown user, too.
  [[nodiscard]] bool LogIn(std::string_view means, std::string_view user,
                           std::string_view password);
  // Makes the client a user that the configuration names, without a password.
  void ActAs(std::shared_ptr<const User> user);
  // Has changes of the users take effect. Cost: a load if there was none.
  void RefreshUser() {
    if (worker_.services.access.version() != users_version_) LookUpUserAgain();
  }
  // No command of the client is executed before that time.
  [[nodiscard]] HostInstant paused_until() const noexcept { return paused_until_; }
  void EndPause() noexcept { paused_until_ = HostInstant{}; }

  // --- The replies and messages that it gets ---

  // CLIENT REPLY: which replies are sent, including the one to the present command.
  enum class Replies : std::uint8_t { kOn, kOff, kSkipThis, kSkipThisAndNext };
  void set_replies(Replies replies) noexcept;
  [[nodiscard]] Replies replies() const noexcept { return replies_; }
  // The client hears from now on what it subscribes to.
  [[nodiscard]] News& MakeNews();
  // MONITOR: shows the client all commands until RESET.
  void StartMonitoring();
  // Null if the client has never heard anything.
  [[nodiscard]] News* news() const noexcept { return news_.get(); }
  // True while the client is subscribed in RESP2, in which a reply could be taken for a message: it
  // may only change its subscriptions, and end them.
  [[nodiscard]] bool is_subscribed_in_resp2() const noexcept {
    return news_ && news_->subscriber.size() > 0 &&
           record_->protocol.load(std::memory_order_relaxed) == 2;
  }

  // --- The rest ---

  [[nodiscard]] Transaction& transaction() noexcept { return transaction_; }
  [[nodiscard]] const Transaction& transaction() const noexcept { return transaction_; }
  [[nodiscard]] ClientRecord& record() const noexcept { return *record_; }
  // The same for a thread that may outlive the session.
  [[nodiscard]] const std::shared_ptr<ClientRecord>& shared_record() const { return record_; }
  // RESET: returns to the state of a new connection, except for its number.
  void Reset();
  // Ends the conversation after the present command's reply.
  void Close();
  [[nodiscard]] bool is_closing() const noexcept { return is_closing_; }

 private:
  // `password_hash`: User::HashOf of the password that the client gave; empty if it gave none.
  void set_user(std::shared_ptr<const User> user, const std::string& password_hash = {});
  void LookUpUserAgain();

  Worker& worker_;
  const std::shared_ptr<ClientRecord> record_;
  RespParser& parser_;
  Transaction transaction_;
  std::shared_ptr<const User> user_;
  Introducer introducer_ = kSoleIntroducer;
  std::string password_hash_;
  bool user_is_given_ = false;   // ActAs() has set the user
  std::uint64_t users_version_;  // of the access list when user_ was looked up
  HostInstant paused_until_{};
  Replies replies_ = Replies::kOn;
  std::unique_ptr<News> news_;
  bool is_closing_ = false;
};

}  // namespace weir
