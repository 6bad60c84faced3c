// A session whose protocol the client chooses by its first bytes: the preface of HTTP/2, or else
// HTTP/1.1. A client of TLS has agreed on one of them before (ALPN); its bytes decide here, too.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/http_services.h"
#include "server/session/client_session.h"
#include "server/session/worker.h"

namespace weir {

class FirstBytes final : public ClientSession {
 public:
  // `http` must outlive the session.
  FirstBytes(Worker& worker, std::shared_ptr<ClientRecord> record, HttpServices& http);

  [[nodiscard]] Turn Execute(std::string_view unread, std::string& out) override;
  void FinishDelayed(std::string& replies, const WaitOutcome& outcome) override {
    session_->FinishDelayed(replies, outcome);
  }
  void EndWait(WaitEnd why) override {
    if (end_ != WaitEnd::kClosing) end_ = why;
    session_->EndWait(why);
  }
  [[nodiscard]] bool has_news() const noexcept override { return session_->has_news(); }
  [[nodiscard]] bool wants_ticks() const noexcept override { return session_->wants_ticks(); }
  [[nodiscard]] bool has_calls() const noexcept override { return session_->has_calls(); }
  [[nodiscard]] bool is_over() const noexcept override { return session_->is_over(); }
  [[nodiscard]] bool is_logged_in() const noexcept override { return session_->is_logged_in(); }
  [[nodiscard]] std::string_view late_reply() const noexcept override {
    return session_->late_reply();
  }
  [[nodiscard]] std::size_t held_bytes() const override { return session_->held_bytes(); }
  void DropUnfinished() override { session_->DropUnfinished(); }
  void OnSent() override { session_->OnSent(); }

 private:
  Worker& worker_;
  const std::shared_ptr<ClientRecord> record_;
  HttpServices& http_;
  bool is_chosen_ = false;
  std::optional<WaitEnd> end_;              // that the session must know which is chosen
  std::unique_ptr<ClientSession> session_;  // of HTTP/1.1 until it is chosen
};

}  // namespace weir
