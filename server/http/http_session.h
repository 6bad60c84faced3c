// One client's side of an HTTP connection: reads requests, finds their routes, writes the responses
// in the order of the requests.
//
// Commands run through a Session of its own: so users, permissions, counters, MONITOR, SLOWLOG and
// durability are those of the Redis protocol. The rules of a turn are, too (client_session.h).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "protocol/http_request.h"
#include "protocol/http_writer.h"
#include "server/http/http_exchange.h"
#include "server/http/http_route.h"
#include "server/http/http_services.h"
#include "server/http/remembered_login.h"
#include "server/session/client_session.h"
#include "server/session/delayed_replies.h"
#include "server/session/session.h"
#include "server/session/worker.h"

namespace weir {

class HttpSession final : public ClientSession {
 public:
  // The record's face says which routes there are. `http` must outlive the session.
  HttpSession(Worker& worker, std::shared_ptr<ClientRecord> record, HttpServices& http);

  [[nodiscard]] Turn Execute(std::string_view unread, std::string& out) override;
  void FinishDelayed(std::string& replies, const WaitOutcome& outcome) override;
  void EndWait(WaitEnd why) override { session_.EndWait(why); }
  [[nodiscard]] bool has_news() const noexcept override { return false; }
  // A client that was not let in yet counts as a stalled one.
  [[nodiscard]] bool is_logged_in() const noexcept override { return session_.is_logged_in(); }
  [[nodiscard]] std::size_t held_bytes() const override {
    return parser_.held_bytes() + rest_bytes_;
  }
  void DropUnfinished() override {
    DropRest();
    parser_.Abandon();
  }
  [[nodiscard]] std::string_view late_reply() const noexcept override {
    return "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  }
  void OnSent() override;

 private:
  // The request of a response that waits.
  struct Delayed {
    const CommandSpec* spec;
    HttpAnswerTo answer_to;
    HttpRouteGroup group;
  };

  // Reads until the next whole request. Returns false if there is none.
  [[nodiscard]] bool ReadRequest(std::string_view unread, Turn& turn, std::string& out);
  void ChooseBody();
  // Answers the request, or does a part of its work: then rest_ is set.
  void Answer(Instant now, Turn& turn, std::string& out);
  void Handle(HttpExchange& exchange, const HttpRoute* route);
  void FinishAnswer(const HttpExchange& exchange, const HttpRoute* route, HttpAnswerTo answer_to,
                    std::size_t begin, std::size_t end);
  void DropRest() {
    rest_ = nullptr;
    rest_bytes_ = 0;
  }
  [[nodiscard]] bool LetIn(HttpExchange& exchange, const HttpRoute& route);
  void AnswerParseError(std::string& out);

  Worker& worker_;
  HttpServices& http_;
  std::shared_ptr<ClientRecord> record_;
  Session session_;
  RememberedLogin login_;
  HttpRequestParser parser_;
  HttpRest rest_;  // of the request that parser_ holds, which a turn has not answered; may be null
  std::size_t rest_bytes_ = 0;
  Awaited awaited_;                  // by the response of that request
  DelayedReplies<Delayed> delayed_;  // of the last turn
  bool in_request_ = false;
  bool said_secret_ = false;     // a request of the present turn may contain a password
  bool rest_is_secret_ = false;  // so may the one that parser_ holds
  bool closing_ = false;
};

}  // namespace weir
