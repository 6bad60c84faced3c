#include "server/http/http_exchange.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "protocol/json_writer.h"
#include "server/access/access_list.h"
#include "server/commands/command_table.h"

namespace weir {
namespace {

// The text of the field Date, which changes once a second.
std::string_view DateText(Instant now) {
  thread_local std::int64_t second = -1;
  thread_local std::string text;
  const std::int64_t present =
      std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  if (std::exchange(second, present) != present) {
    text = absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", absl::FromUnixSeconds(present),
                            absl::UTCTimeZone());
  }
  return text;
}

}  // namespace

int StatusOfError(std::string_view error) noexcept {
  constexpr auto kStatuses = std::to_array<std::pair<std::string_view, int>>({
      {"NOAUTH", 401},
      {"WRONGPASS", 401},
      {"NOPERM", 403},
      {"EDGE", 503},
      {"LOADING", 503},
      {"MASTERDOWN", 503},
      {"MISCONF", 503},
      {"NOACK", 503},
      {"NOREPLICAS", 503},
      {"OOM", 503},
      {"READONLY", 503},
  });
  const std::string_view prefix = error.substr(0, error.find(' '));
  const auto* const found =
      std::ranges::find(kStatuses, prefix, &std::pair<std::string_view, int>::first);
  return found == kStatuses.end() ? 400 : found->second;
}

std::string ErrorJson(std::string_view error) {
  std::string json;
  JsonWriter(json).Object().Field("error", error).EndObject();
  return json;
}

HttpAnswerTo AnswerTo(const HttpHead& head, const HttpRoute* route, Instant now) {
  return {.head_only = head.method == "HEAD",
          .minor_version = head.minor_version,
          .keep_alive = head.keep_alive,
          .date = DateText(now),
          .fields = route ? route->fields : std::span<const HttpField>()};
}

HttpExchange::HttpExchange(const HttpRequestParser& parsed, const HttpAnswerTo& answer_to,
                           HttpServices& http, Session& session, RememberedLogin& login,
                           Instant now, std::string& out)
    : parsed_(parsed),
      answer_to_(answer_to),
      http_(http),
      session_(session),
      login_(login),
      now_(now),
      writer_(out) {}

bool HttpExchange::LogIn() {
  const std::string_view error = login_.LogIn(head().Field("Authorization"), session_);
  if (!error.empty()) Fail(401, error);
  return error.empty();
}

bool HttpExchange::ActAs(std::string_view user) {
  std::shared_ptr<const User> found = services().access.FindActive(user);
  if (!found) return false;
  if (session_.client().user() != found) session_.client().ActAs(std::move(found));
  return true;
}

std::string_view HttpExchange::Run(const ReadAhead::Command& command, VerdictReader& reader) {
  Execute(command, &reader);
  if (reply_.empty()) return {};
  std::string_view error = reply_;
  error.remove_prefix(1);
  error.remove_suffix(2);
  return error;
}

std::string_view HttpExchange::Run(std::span<const std::string_view> words) {
  Execute(ReadAhead::Alone(words), nullptr);
  return reply_;
}

// Only this thread counts requests in the worker's counters, so they differ by those of the
// command.
void HttpExchange::Execute(const ReadAhead::Command& command, VerdictReader* reader) {
  using Result = RequestTally::Result;
  const RequestCounters& counters = session_.worker().request_counters;
  const std::uint64_t allowed = counters.allowed.value();
  const std::uint64_t denied = counters.denied.value();
  reply_.clear();
  RespWriter writer(reply_);
  awaited_.Add(session_.ExecuteAlone(command, now_, writer, reader));
  if (counters.allowed.value() != allowed) http_.requests.Add(Result::kAllowed);
  if (counters.denied.value() != denied) http_.requests.Add(Result::kDenied);
  if (!reply_.starts_with('-')) return;
  if (command.spec && AsksForTokens(*command.spec)) http_.requests.Add(Result::kError);
}

bool HttpExchange::IsHeldBack(const ReadAhead::Command& command) {
  is_held_back_ = session_.IsHeldBack(command);
  return is_held_back_;
}

void HttpExchange::GoOnLater(HttpRest rest, std::size_t held_bytes) {
  WEIR_CHECK(status_ == 0);
  rest_ = std::move(rest);
  rest_bytes_ = held_bytes;
}

bool HttpExchange::MayRun(std::span<const std::string_view> words) {
  const absl::Status error = session_.PermissionError(*FindRequested(words), words);
  if (!error.ok()) FailAs(StdView(error.message()));
  return error.ok();
}

bool HttpExchange::CanLook() {
  const absl::Status error = services().admission().StateError(kReadOnly);
  if (!error.ok()) FailAs(StdView(error.message()));
  return error.ok();
}

HttpWriter& HttpExchange::Begin(int status) {
  status_ = status;
  writer_.Begin(status, answer_to_);
  return writer_;
}

void HttpExchange::Answer(int status, std::string_view content_type, std::string_view body) {
  Begin(status).Field("Content-Type", content_type);
  End(body);
}

void HttpExchange::Fail(int status, std::string_view error) {
  HttpWriter& writer = Begin(status);
  if (status == 401) writer.Field("WWW-Authenticate", R"(Basic realm="weir", charset="UTF-8")");
  writer.Field("Content-Type", kJson);
  End(ErrorJson(error));
}

void HttpExchange::RefuseMethod(std::string_view methods) {
  Begin(405).Field("Allow", methods);
  End();
}

void HttpExchange::FailAs(std::string_view command_error) {
  Fail(StatusOfError(command_error), command_error);
}

}  // namespace weir
