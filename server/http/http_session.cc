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
  if (host_now < session_.paused_until() && !ending_) {
    return {.next = Next::kPause, .wake = session_.paused_until(), .in_request = in_request_};
  }
  Turn turn;
  unsaved_.Clear();
  session_.BeginTurn();
  const std::size_t out_begin = out.size();
  const std::uint64_t commands_before = worker_.counters["total_commands_processed"].value();
  while (!closing_) {
    if (session_.work() >= kWorkPerTurn || out.size() - out_begin >= kReplyBytesPerTurn) {
      turn.next = Next::kContinue;
      break;
    }
    if (host_now < session_.paused_until() && !ending_) {
      turn.next = Next::kPause;
      turn.wake = session_.paused_until();
      break;
    }
    if (IsPaused(unread.substr(turn.consumed), host_now)) {
      turn.next = Next::kWait;
      turn.wake = worker_.services.pause.until();
      break;
    }
    const HttpResult result = parser_.Parse(unread.substr(turn.consumed));
    turn.consumed += parser_.consumed();
    if (result == HttpResult::kNeedMore) {
      if (parser_.TakeContinue()) HttpWriter(out).Continue();
      break;
    }
    in_request_ = result == HttpResult::kHead;
    if (result == HttpResult::kHead) {
      ChooseBody();
    } else if (result == HttpResult::kError) {
      worker_.counters["protocol_errors"].Add();
      AnswerParseError(out);
    } else {
      Answer(now, out);
      if (said_secret_) parser_.Wipe();
      turn.completed = true;
    }
  }
  if (closing_) turn.next = Next::kClose;
  turn.in_request = in_request_;
  // Nothing is known about the bytes of a request that is not complete.
  turn.had_secret = std::exchange(said_secret_, false) || in_request_;
  turn.unsaved_from = unsaved_.begin();
  turn.awaited = unsaved_.awaited();
  worker_.CountTurn(commands_before, turn.consumed, out.size() - out_begin, host_now);
  return turn;
}

// True if the next request must wait for the end of a CLIENT PAUSE. The probes and the admin port
// answer meanwhile, except for what may change something.
bool HttpSession::IsPaused(std::string_view unread, HostInstant now) const {
  if (now >= worker_.services.pause.until() || ending_ || in_request_) return false;
  if (unread.empty()) return false;
  if (record_->face == Face::kAdmin) {
    return unread.starts_with("POST ") || unread.starts_with("DELETE ");
  }
  const std::string_view target = unread.substr(std::min(unread.find(' ') + 1, unread.size()));
  const HttpRoute* const route =
      FindHttpRoute(record_->face, target.substr(0, target.find_first_of(" ?")));
  return !route || route->group != HttpRouteGroup::kHealth;
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

void HttpSession::Answer(Instant now, std::string& out) {
  const HttpHead& head = parser_.head();
  const HttpRoute* const route = FindHttpRoute(record_->face, head.path);
  said_secret_ = said_secret_ || head.Field("Authorization").has_value();
  session_.Charge(1);
  const std::size_t begin = out.size();
  HttpAnswerTo answer_to = AnswerTo(head, route, now);
  HttpExchange exchange(parser_, answer_to, http_, session_, login_, now, out);
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
  WEIR_CHECK(exchange.status() != 0);
  said_secret_ = said_secret_ || exchange.had_secret();
  const HttpRouteGroup group = route ? route->group : HttpRouteGroup::kNone;
  http_.responses.Add(group, exchange.status());
  if (exchange.awaited().any()) {
    answer_to.date = {};  // a view
    unsaved_.Add(begin, out.size(), exchange.awaited(),
                 {record_->last_command.load(std::memory_order_relaxed), answer_to, group});
  }
  closing_ = closing_ || !head.keep_alive;
}

// Logs the client in, if the route wants it, and refuses what a page may have sent. Returns false
// after answering. A login that needs no password proves nothing: a page may send one, too. A
// client without a login is not asked for a password under a name that may be a site's.
bool HttpSession::LetIn(HttpExchange& exchange, const HttpRoute& route) {
  const bool must_log_in = route.login == HttpRoute::Login::kFirst;
  const bool logs_in = must_log_in && exchange.head().Field("Authorization");
  if (logs_in && !exchange.LogIn()) return false;
  const bool is_proved = record_->has_certificate.load(std::memory_order_relaxed) ||
                         (logs_in && !session_.user()->needs_no_password());
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

void HttpSession::FinishUnsaved(std::string& replies, const WaitOutcome& outcome) const {
  unsaved_.Replace(
      replies, outcome,
      [&](const Unsaved& request, std::string_view /*reply*/, Replaced why, std::string& out) {
        const std::string error = ErrorOfWait(why, outcome);
        HttpWriter writer(out);
        writer.Begin(503, request.answer_to);
        writer.Field("Content-Type", kJson);
        writer.End(ErrorJson(error));
        http_.responses.Add(request.group, 503);
        worker_.CountError(error);
        worker_.command_counters.Of(*request.spec).failed.Add();
        if (AsksForTokens(*request.spec)) http_.requests.Add(RequestTally::Result::kError);
      });
}

void HttpSession::OnSent() {
  unsaved_.GiveBack();
  parser_.GiveBack();
}

}  // namespace weir
