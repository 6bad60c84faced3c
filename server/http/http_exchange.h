// One HTTP request and its response, in the hands of a route's handler.
//
//     void Livez(HttpExchange& exchange) { exchange.Answer(200, kPlainText, "ok\n"); }
//
// A handler answers exactly once: by Answer(), by Fail(), or by Begin(), fields and End(). Every
// error of a request is an answer. A handler that cannot answer in this turn calls GoOnLater
// instead, with the rest of its work. An exchange belongs to the thread of its session.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/any_invocable.h"

#include "core/base/instant.h"
#include "protocol/http_head.h"
#include "protocol/http_request.h"
#include "protocol/http_writer.h"
#include "server/http/http_route.h"
#include "server/http/http_services.h"
#include "server/http/remembered_login.h"
#include "server/session/session.h"
#include "server/session/verdict_reader.h"

namespace weir {

inline constexpr std::string_view kPlainText = "text/plain; charset=utf-8";
inline constexpr std::string_view kJson = "application/json";

inline constexpr std::string_view kNoSuchPath = "ERR no such path";

class HttpExchange;

// The rest of a handler's work. It may be called once.
using HttpRest = absl::AnyInvocable<void(HttpExchange&)>;

// public-functions: 34, the request, its user and its response, which a route needs.
class HttpExchange {
 public:
  // For the request that was parsed. Appends the response, in the form of `answer_to`, to `out`;
  // `session` runs the commands of the request; `login` is that of the connection.
  HttpExchange(const HttpRequestParser& parsed, const HttpAnswerTo& answer_to, HttpServices& http,
               Session& session, RememberedLogin& login, Instant now, std::string& out);

  [[nodiscard]] const HttpHead& head() const noexcept { return parsed_.head(); }
  // Empty unless the route reads it.
  [[nodiscard]] std::string_view body() const noexcept { return parsed_.body(); }
  [[nodiscard]] Instant now() const noexcept { return now_; }
  [[nodiscard]] HttpServices& http() const noexcept { return http_; }
  [[nodiscard]] Services& services() const noexcept { return session_.worker().services; }
  [[nodiscard]] Session& session() const noexcept { return session_; }

  // --- The client's user, on whose behalf Run() acts ---

  // Takes the user of the field Authorization, or, without it, that of a new connection. Returns
  // false after answering 401.
  [[nodiscard]] bool LogIn();
  // Takes the user of a new connection, whatever the client says; it may be none.
  void ActAsNewClient() { weir::ActAsNewClient(session_); }
  // Takes a user that the configuration names. Returns false if there is none, or it is off.
  [[nodiscard]] bool ActAs(std::string_view user);

  // Returns true if the user may run the command of these words, such as INFO, which stands for the
  // right to what the route shows. Otherwise answers 403 and returns false, and the refusal is
  // logged as that of the command.
  [[nodiscard]] bool MayRun(std::span<const std::string_view> words);

  // Returns true if the server's state allows commands that look at buckets. Otherwise answers
  // their error, such as LOADING, and returns false.
  [[nodiscard]] bool CanLook();

  // Runs a command as the user. Returns its error, such as "ERR invalid limit ...", valid until the
  // next call, or an empty text after `reader` got the verdict. Requires: a command that `reader`
  // reads, such as RL.ALLOW.
  [[nodiscard]] std::string_view Run(const ReadAhead::Command& command, VerdictReader& reader);
  [[nodiscard]] std::string_view Run(std::span<const std::string_view> words,
                                     VerdictReader& reader) {
    return Run(ReadAhead::Alone(words), reader);
  }
  // Runs a command as the user, and returns its reply in RESP, valid until the next call.
  [[nodiscard]] std::string_view Run(std::span<const std::string_view> words);

  // Has the response wait for what the session's delay() awaits, after a change that was no
  // command.
  void AwaitDelay() { awaited_.Add(session_.delay().Take()); }

  // --- Work that does not end in this turn ---

  // Returns true if a command must wait for the end of a pause. The handler then calls GoOnLater()
  // and returns.
  [[nodiscard]] bool IsHeldBack(const ReadAhead::Command& command);
  [[nodiscard]] bool IsHeldBack(std::span<const std::string_view> words) {
    return was_paused() && IsHeldBack(ReadAhead::Alone(words));
  }
  // Returns false if no command has to wait: there was no pause.
  [[nodiscard]] bool was_paused() { return services().pause.until() != HostInstant{}; }
  // Returns true if the turn has had its share of work; the handler then does likewise. It must
  // first have made progress that `rest` keeps.
  [[nodiscard]] bool IsTurnOver() const noexcept { return session_.work().units() >= kWorkPerTurn; }
  // Has `rest` called in a later turn, for the same request, in place of an answer. `held_bytes`:
  // the memory that it keeps.
  void GoOnLater(HttpRest rest, std::size_t held_bytes = 0);
  // The rest and its memory; null after an answer.
  [[nodiscard]] HttpRest TakeRest() { return std::move(rest_); }
  [[nodiscard]] std::size_t rest_bytes() const noexcept { return rest_bytes_; }
  // True if the rest waits for the end of a pause.
  [[nodiscard]] bool is_held_back() const noexcept { return is_held_back_; }

  // Says that a password may be among the words of the request.
  void MarkSecret() noexcept { had_secret_ = true; }
  [[nodiscard]] bool had_secret() const noexcept { return had_secret_; }

  // --- The response ---

  // A response of another form than Answer(): the fields go between Begin() and End().
  HttpWriter& Begin(int status);
  void End(std::string_view body = {}) { writer_.End(body); }
  void Answer(int status, std::string_view content_type, std::string_view body);
  // Answers {"error":"ERR ..."}.
  void Fail(int status, std::string_view error);
  // Answers 405, with the methods that there are: "GET, HEAD".
  void RefuseMethod(std::string_view methods);
  // Answers the error of a command, with the status that stands for it.
  void FailAs(std::string_view command_error);

  // 0 before Begin().
  [[nodiscard]] int status() const noexcept { return status_; }
  // The events that the response must wait for because of the commands of this turn.
  [[nodiscard]] const Awaited& awaited() const noexcept { return awaited_; }

 private:
  // Runs a command, with its reply in reply_.
  void Execute(const ReadAhead::Command& command, VerdictReader* reader);

  const HttpRequestParser& parsed_;
  const HttpAnswerTo& answer_to_;
  HttpServices& http_;
  Session& session_;
  RememberedLogin& login_;
  const Instant now_;
  HttpWriter writer_;
  int status_ = 0;
  bool had_secret_ = false;
  Awaited awaited_;
  std::string reply_;
  HttpRest rest_;
  std::size_t rest_bytes_ = 0;
  bool is_held_back_ = false;
};

// The status that stands for a command's error: 401 for NOAUTH, 403 for NOPERM, 503 for those of a
// server that could not do it now, such as LOADING, READONLY or MISCONF, else 400.
[[nodiscard]] int StatusOfError(std::string_view error) noexcept;

// {"error":"..."}, with bytes that are not UTF-8 replaced.
[[nodiscard]] std::string ErrorJson(std::string_view error);

// The form of the response to a request; `route` is null for an unknown path. Its date is valid
// until the next call on this thread.
[[nodiscard]] HttpAnswerTo AnswerTo(const HttpHead& head, const HttpRoute* route, Instant now);

}  // namespace weir
