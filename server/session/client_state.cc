#include "server/session/client_state.h"

#include <utility>

#include <spdlog/spdlog.h>

namespace weir {

ClientState::ClientState(Worker& worker, std::shared_ptr<ClientRecord> record, RespParser& parser)
    : worker_(worker),
      record_(std::move(record)),
      parser_(parser),
      users_version_(worker.services.access.version()) {
  set_user(worker_.services.access.ForNewConnection());
}

void ClientState::set_user(std::shared_ptr<const User> user, const std::string& password_hash) {
  password_hash_ = user ? password_hash : "";
  user_is_given_ = false;
  user_ = std::move(user);
  introducer_ = worker_.services.access.IntroducerOf(user_.get());
  record_->set_user(user_ ? user_->name() : std::string(kDefaultUser));
  worker_.read_ahead.Drop(parser_);
  parser_.set_caps(user_ ? kRespCaps : kRespCapsBeforeAuth);
  if (news_ && !news_->IsPermitted(user_.get())) Close();
}

bool ClientState::LogIn(std::string_view means, std::string_view user, std::string_view password) {
  Services& services = worker_.services;
  std::shared_ptr<const User> found = services.access.Find(user);
  // An unknown user's password is compared, too, so that timing does not reveal which users exist.
  const std::shared_ptr<const User> compared = found ? found : services.access.Find(kDefaultUser);
  const std::string hash = User::HashOf(password);
  const bool right = compared->AcceptsHash(hash);
  if (found && found->is_on() && right) {
    set_user(std::move(found), hash);
    return true;
  }
  const HostInstant now = services.clock.HostNow();
  paused_until_ = now + kLoginDelay;
  // An unknown name is not logged: it may be a password.
  services.access_log.Add({.reason = AccessLog::Reason::kPassword,
                           .object = std::string(means),
                           .user = found ? found->name() : "(unknown)",
                           .client = record_->Line(now),
                           .last = now});
  const std::string_view address = record_->address;
  if (const auto suppressed = services.login_throttle.Admit(HostOf(address))) {
    spdlog::warn("refused client {} as {}: wrong password, or off ({} similar lines suppressed)",
                 address, found ? "user '" + found->name() + "'" : "an unknown user", *suppressed);
  }
  return false;
}

void ClientState::ActAs(std::shared_ptr<const User> user) {
  set_user(std::move(user));
  user_is_given_ = true;
  users_version_ = worker_.services.access.version();
}

// After the users were loaded again, the client keeps its user if that user still exists and
// accepts the password with which the client has logged in.
void ClientState::LookUpUserAgain() {
  const AccessList& access = worker_.services.access;
  users_version_ = access.version();
  std::shared_ptr<const User> now = user_ ? access.Find(user_->name()) : access.ForNewConnection();
  const bool stays = now && now->is_on() && (user_is_given_ || now->AcceptsHash(password_hash_));
  const bool is_given = user_is_given_;
  set_user(stays ? std::move(now) : nullptr, password_hash_);
  user_is_given_ = is_given;
}

void ClientState::set_replies(Replies replies) noexcept {
  replies_ = replies;
  record_->is_silent.store(replies == Replies::kOff, std::memory_order_relaxed);
}

News& ClientState::MakeNews() {
  Services& services = worker_.services;
  if (!news_) news_ = std::make_unique<News>(services.outboxes, services.channels, record_);
  return *news_;
}

void ClientState::StartMonitoring() {
  News& news = MakeNews();
  if (!news.monitor) news.monitor.emplace(worker_.services.observers.monitors, news.outbox);
}

void ClientState::Reset() {
  transaction_ = Transaction();
  record_->set_name("");
  record_->protocol.store(2, std::memory_order_relaxed);
  record_->stays.store(false, std::memory_order_relaxed);
  set_replies(Replies::kOn);
  news_.reset();
  set_user(worker_.services.access.ForNewConnection());
}

// Stops listening at once, because the connection may linger.
void ClientState::Close() {
  is_closing_ = true;
  news_.reset();
}

}  // namespace weir
