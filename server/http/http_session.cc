#include "server/http/http_session.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "server/http/http_exchange.h"
#include "server/http/site_guard.h"
#include "server/session/call.h"

namespace weir {
namespace {

// True for a method that a route allows.
bool Allows(const HttpRoute& route, std::string_view method) noexcept {
  if (route.methods.empty()) return true;
  std::string_view rest = route.methods;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(", "), rest.size());
    if (rest.substr(0, end) == method) return true;
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  return false;
}

}  // namespace

HttpSession::HttpSession(Worker& worker, std::shared_ptr<ClientRecord> record, HttpServices& http)
    : worker_(worker), http_(http), record_(std::move(record)), session_(worker, record_) {}

ClientSession::Turn HttpSession::Execute(std::string_view unread, std::string& out) {
  const auto [now, host_now] = worker_.services.clock.Read();
  record_->last_active_ns.store(host_now.time_since_epoch().count(), std::memory_order_relaxed);
  if (closing_ || record_->killed.load(std::memory_order_relaxed)) return {.next = Next::kClose};
  if (host_now < session_.client().paused_until()) {
    return {
        .next = Next::kPause, .wake = session_.client().paused_until(), .in_request = in_request_};
  }
  Turn turn;
  delayed_.Clear();
  session_.work().Begin();
  const std::size_t out_begin = out.size();
  while (!closing_ && turn.next == Next::kRead) {
    if (session_.work().units() >= kWorkPerTurn || out.size() - out_begin >= kReplyBytesPerTurn) {
      turn.next = Next::kContinue;
    } else if (host_now < session_.client().paused_until()) {
      turn.next = Next::kPause;
      turn.wake = session_.client().paused_until();
    } else if (rest_ || ReadRequest(unread, turn, out)) {
      Answer(now, turn, out);
    } else {
      break;
    }
  }
  if (closing_) turn.next = Next::kClose;
  turn.in_request = in_request_;
  // Nothing is known about the bytes of a request that is not complete.
  turn.had_secret = std::exchange(said_secret_, false) || in_request_;
  session_.EndTurn(turn, delayed_, out.size() - out_begin, host_now);
  return turn;
}

bool HttpSession::ReadRequest(std::string_view unread, Turn& turn, std::string& out) {
  while (true) {
    const HttpResult result = parser_.Parse(unread.substr(turn.consumed));
    turn.consumed += parser_.consumed();
    if (result == HttpResult::kNeedMore) {
      if (parser_.TakeContinue()) HttpWriter(out).Continue();
      return false;
    }
    in_request_ = result == HttpResult::kHead;
    if (result == HttpResult::kRequest) return turn.completed = true;
    if (result == HttpResult::kError) {
      worker_.counters["protocol_errors"].Add();
      AnswerParseError(out);
      return false;
    }
    ChooseBody();
  }
}

// A body is kept only for a route that reads it, and that the client may use.
void HttpSession::ChooseBody() {
  const HttpHead& head = parser_.head();
  const HttpRoute* const route = FindHttpRoute(record_->face, head.path);
  const bool is_read = route && route->body == HttpRoute::Body::kRead &&
                       Allows(*route, head.method) &&
                       (head.Field("Authorization") || worker_.services.access.ForNewConnection());
  if (is_read) return parser_.KeepBody(kHttpBodyBytesMax);
  parser_.DropBody(kHttpDroppedBodyBytesMax);
}

void HttpSession::Answer(Instant now, Turn& turn, std::string& out) {
  const HttpHead& head = parser_.head();
  const HttpRoute* const route = FindHttpRoute(record_->face, head.path);
  said_secret_ = said_secret_ || rest_is_secret_ || head.Field("Authorization").has_value();
  session_.work().Charge(1);
  const std::size_t begin = out.size();
  const HttpAnswerTo answer_to = AnswerTo(head, route, now);
  HttpExchange exchange(parser_, answer_to, http_, session_, login_, now, out);
  if (HttpRest rest = std::exchange(rest_, nullptr)) {
    rest(exchange);
  } else {
    Handle(exchange, route);
  }
  said_secret_ = said_secret_ || exchange.had_secret();
  awaited_.Add(exchange.awaited());
  rest_ = exchange.TakeRest();
  rest_bytes_ = exchange.rest_bytes();
  rest_is_secret_ = rest_ && said_secret_;
  if (rest_) {
    parser_.Hold();
    turn.next = exchange.is_held_back() ? Next::kWait : Next::kContinue;
    turn.wake = worker_.services.pause.until();
    return;
  }
  FinishAnswer(exchange, route, answer_to, begin, out.size());
  closing_ = closing_ || !head.keep_alive;
  if (said_secret_) parser_.Wipe();
}

void HttpSession::Handle(HttpExchange& exchange, const HttpRoute* route) {
  const HttpHead& head = exchange.head();
  if (!route) {
    exchange.Fail(404, kNoSuchPath);
  } else if (route->guard == HttpRoute::Guard::kAdminHosts &&
             !IsAdminHost(head.host, worker_.services.options)) {
    exchange.Fail(421, "ERR this is not the host's name: see the option admin-hosts");
  } else if (!Allows(*route, head.method)) {
    exchange.RefuseMethod(route->methods);
  } else if (LetIn(exchange, *route)) {
    route->handler(exchange);
  }
}

void HttpSession::FinishAnswer(const HttpExchange& exchange, const HttpRoute* route,
                               HttpAnswerTo answer_to, std::size_t begin, std::size_t end) {
  WEIR_CHECK(exchange.status() != 0);
  const HttpRouteGroup group = route ? route->group : HttpRouteGroup::kNone;
  http_.responses.Add(group, exchange.status());
  const Awaited awaited = std::exchange(awaited_, {});
  if (!awaited.any()) return;
  answer_to.date = {};  // a view
  delayed_.Add(begin, end, awaited,
               {record_->last_command.load(std::memory_order_relaxed), answer_to, group});
}

// Logs the client in, if the route wants it, and refuses what a page may have sent. Returns false
// after answering. A login that needs no password proves nothing: a page may send one, too. A
// client without a login is not asked for a password under a name that may be a site's.
bool HttpSession::LetIn(HttpExchange& exchange, const HttpRoute& route) {
  const bool must_log_in = route.login == HttpRoute::Login::kFirst;
  const bool logs_in = must_log_in && exchange.head().Field("Authorization");
  if (logs_in && !exchange.LogIn()) return false;
  const bool is_proved = record_->has_certificate.load(std::memory_order_relaxed) ||
                         (logs_in && !session_.client().user()->needs_no_password());
  if (route.guard == HttpRoute::Guard::kPages && !is_proved) {
    if (const auto refusal = RefusalOfSite(exchange.head(), worker_.services.options)) {
      exchange.Fail(refusal->status, refusal->error);
      return false;
    }
  }
  return logs_in || !must_log_in || exchange.LogIn();
}

void HttpSession::AnswerParseError(std::string& out) {
  HttpWriter writer(out);
  writer.Begin(parser_.error_status(), {.keep_alive = false, .date = {}});
  writer.Field("Content-Type", kJson);
  writer.End(ErrorJson(absl::StrCat("ERR ", AbslView(parser_.error()))));
  http_.responses.Add(HttpRouteGroup::kNone, parser_.error_status());
  closing_ = true;
}

void HttpSession::FinishDelayed(std::string& replies, const WaitOutcome& outcome) {
  delayed_.Replace(
      replies, outcome,
      [&](const Delayed& request, std::string_view /*reply*/, Replaced why, std::string& out) {
        const std::string error = ErrorOfWait(why, outcome);
        HttpWriter writer(out);
        writer.Begin(503, request.answer_to);
        writer.Field("Content-Type", kJson);
        writer.End(ErrorJson(error));
        http_.responses.Add(request.group, 503);
        worker_.CountError(error);
        worker_.command_counters.Of(*request.spec).failed.Add();
        if (request.group == HttpRouteGroup::kRls) {
          http_.requests.AddCall(RequestTally::Result::kError);
          worker_.services.rls.CountError(RlsError::kUnavailable);
        } else if (AsksForTokens(*request.spec)) {
          http_.requests.Add(RequestTally::Result::kError);
        }
      });
}

void HttpSession::OnSent() {
  delayed_.ShrinkBuffers();
  if (!rest_) parser_.ShrinkBuffers();
}

}  // namespace weir
