#include "server/grpc/grpc_session.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include <spdlog/spdlog.h>

#include "http2/grpc_message.h"
#include "server/commands/command_table.h"
#include "server/session/call.h"

namespace weir {
namespace {

constexpr std::string_view kContentType = "application/grpc";

constexpr auto kAnswerFields =
    std::to_array<Http2Field>({{":status", "200"}, {"content-type", kContentType}});

bool IsGrpc(const Http2Fields& fields) {
  const std::string& type = fields.content_type;
  return fields.method == "POST" && (type == kContentType || type == "application/grpc+proto");
}

// Names the flood for which a client is closed, in the words of the log.
std::string_view TextOf(Http2Flood flood) {
  if (flood == Http2Flood::kNone) return "what is no HTTP/2";
  return flood == Http2Flood::kResets ? "too many resets of calls"
                                      : "too many frames without calls";
}

}  // namespace

Nanos SpreadAge(Nanos age, std::uint64_t client) noexcept {
  constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;                  // of 2^64
  const auto share = static_cast<std::int64_t>(client * kGoldenRatio >> 54);  // 0 to 1023
  return age - age / 10 + age / 5 / 1023 * share;
}

GrpcSession::GrpcSession(Worker& worker, std::shared_ptr<ClientRecord> record, HttpServices& http)
    : worker_(worker), http_(http), record_(std::move(record)), session_(worker, record_) {
  http2_.emplace(static_cast<Http2Receiver&>(*this));
  worker_.services.http2.Open();
}

GrpcSession::~GrpcSession() { DropUnfinished(); }

void GrpcSession::DropUnfinished() {
  if (!http2_) return;
  http2_.reset();
  if (why_closed_ == Http2End::kClient && is_over()) why_closed_ = *end_;
  worker_.services.http2.Close(why_closed_);
}

ClientSession::Turn GrpcSession::Execute(std::string_view unread, std::string& out) {
  const HostInstant now = worker_.services.clock.HostNow();
  record_->last_active_ns.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  if (closing_ || record_->killed.load(std::memory_order_relaxed)) return {.next = Next::kClose};
  const HostInstant paused_until = session_.client().paused_until();
  if (now < paused_until) return {.next = Next::kPause, .wake = paused_until};
  // Any of the bytes may be a password.
  Turn turn = {.had_secret = true};
  TurnWork& work = session_.work();
  work.Begin();
  const std::size_t out_begin = out.size();
  AnswerWaiting();
  http2_->ResetOverdue(now, kGrpcCallTime);
  while (!http2_->has_ended()) {
    RunComplete();
    http2_->Flush(out);
    if (work.units() >= kWorkPerTurn || out.size() - out_begin >= kReplyBytesPerTurn) {
      turn.next = Next::kContinue;
      break;
    }
    if (now < session_.client().paused_until()) {
      turn.next = Next::kPause;
      turn.wake = session_.client().paused_until();
      break;
    }
    if (turn.consumed == unread.size()) break;
    const Http2FrameWatch::Read read =
        http2_->Receive(unread.substr(turn.consumed), now, kWorkPerTurn - work.units());
    turn.consumed += read.bytes;
    work.Charge(read.units);
  }
  SendUpdates();
  http2_->Flush(out);  // ahead of GOAWAY
  End(now, turn.next == Next::kRead && waiting_.empty(), out);
  http2_->Flush(out);
  if (http2_->has_ended()) {
    NoteEnd();
    turn.next = Next::kClose;
  } else if (!waiting_.empty()) {
    turn.delayed_from = out.size();
    for (const Waiting& call : waiting_) turn.awaited.Add(call.awaited);
    if (turn.next == Next::kRead) turn.next = Next::kContinue;
  }
  session_.EndTurn(turn, out.size() - out_begin, now);
  return turn;
}

// Answers the calls of the last turn whose answers had to wait.
void GrpcSession::AnswerWaiting() {
  const WaitOutcome outcome = std::exchange(outcome_, {});
  waiting_bytes_ = 0;
  for (const Waiting& call : std::exchange(waiting_, {})) {
    Http2Stream* const stream = http2_->Find(call.stream);
    if (stream == nullptr) continue;
    const std::optional<Replaced> why = WhyReplaced(call.awaited, outcome);
    if (!why) {
      Answer(*stream, call.message);
      continue;
    }
    const std::string error = ErrorOfWait(*why, outcome);
    worker_.CountError(error);
    worker_.services.rls.CountError(RlsError::kUnavailable);
    http_.requests.AddCall(RequestTally::Result::kError);
    worker_.command_counters.Of(RateLimitCallSpec()).failed.Add();
    Fail(*stream, {GrpcStatus::kUnavailable, error});
  }
}

// Called within Http2Session::Receive.
void GrpcSession::OnProgress(Http2Stream& stream) {
  if (stream.is_answered) return;
  if (!IsGrpc(stream.fields)) return Refuse(stream);
  const GrpcMethod* const method = MethodOf(stream);
  if (method && method->too_long && LookAtGrpcBody(stream.body) == GrpcBody::kTooLong) {
    return Answer(stream, method->too_long(worker_.services));
  }
  if (const std::optional<GrpcError> error = ErrorOf(stream)) return Fail(stream, *error);
  if (stream.is_complete) complete_.push_back({stream.id, method->changes});
}

std::optional<GrpcError> GrpcSession::ErrorOf(const Http2Stream& stream) const {
  const Http2Fields& fields = stream.fields;
  if (MethodOf(stream) == nullptr) {
    return GrpcError{GrpcStatus::kUnimplemented, "ERR no such method"};
  }
  const bool is_plain = fields.grpc_encoding.empty() || fields.grpc_encoding == "identity";
  const GrpcBody body = LookAtGrpcBody(stream.body);
  if (!is_plain || body == GrpcBody::kCompressed) {
    return GrpcError{GrpcStatus::kUnimplemented, "ERR messages must not be compressed"};
  }
  if (body == GrpcBody::kTooLong) {
    return GrpcError{GrpcStatus::kResourceExhausted,
                     absl::StrCat("ERR a message has at most ", kGrpcMessageBytesMax, " bytes")};
  }
  if (body == GrpcBody::kTooMany) {
    return GrpcError{GrpcStatus::kInternal, "ERR a call has one message"};
  }
  if (stream.is_complete && body == GrpcBody::kIncomplete) {
    return GrpcError{GrpcStatus::kInternal, "ERR the message is not complete"};
  }
  return std::nullopt;
}

void GrpcSession::RunComplete() {
  TurnWork& work = session_.work();
  const HostInstant now = worker_.services.clock.HostNow();
  while (!complete_.empty() && work.units() < kWorkPerTurn && !IsPaused()) {
    if (now < session_.client().paused_until()) break;  // behind a wrong password
    Http2Stream* const stream = http2_->Find(complete_.front().stream);
    complete_.pop_front();
    if (stream == nullptr) continue;  // The client has reset it.
    work.Charge(1);
    Run(*stream);
  }
}

bool GrpcSession::IsPaused() const noexcept {
  if (complete_.empty() || !complete_.front().changes || end_ == Http2End::kShutdown) return false;
  const HostInstant until = worker_.services.pause.until();
  return until != HostInstant{} && worker_.services.clock.HostNow() < until;
}

void GrpcSession::Run(Http2Stream& stream) {
  GrpcContext context{.state = state(),
                      .http = http_,
                      .session = session_,
                      .login = login_,
                      .authorization = stream.fields.authorization};
  GrpcResult result = MethodOf(stream)->handler(GrpcMessageOf(stream.body), context);
  const Awaited awaited = session_.delay().Take();
  if (auto* const message = std::get_if<std::string>(&result)) {
    if (!awaited.any()) return Answer(stream, *message);
    waiting_bytes_ += message->capacity();
    waiting_.push_back({stream.id, std::move(*message), awaited});
  } else if (const auto* const error = std::get_if<GrpcError>(&result)) {
    Fail(stream, *error);
  } else {
    Last(stream, std::get<std::unique_ptr<GrpcUpdates>>(std::move(result)));
  }
}

void GrpcSession::Answer(Http2Stream& stream, std::string_view message) {
  constexpr auto kOk = std::to_array<Http2Field>({{"grpc-status", "0"}});
  std::string body;
  AppendGrpcMessage(message, body);
  http2_->Begin(stream, kAnswerFields);
  http2_->Write(stream, body);
  http2_->End(stream, kOk);
  http2_->DropBody(stream);
  http_.responses.Add(MethodOf(stream)->group, 200);
}

void GrpcSession::Fail(Http2Stream& stream, const GrpcError& error) {
  const std::string status = absl::StrCat(static_cast<int>(error.status));
  const std::string text = GrpcMessageField(error.text);
  http2_->Answer(stream, std::to_array<Http2Field>({{":status", "200"},
                                                    {"content-type", kContentType},
                                                    {"grpc-accept-encoding", "identity"},
                                                    {"grpc-status", status},
                                                    {"grpc-message", text}}));
  http2_->DropBody(stream);
  const GrpcMethod* const method = MethodOf(stream);
  http_.responses.Add(method ? method->group : HttpRouteGroup::kNone, 200);
}

void GrpcSession::Refuse(Http2Stream& stream) {
  http2_->Answer(stream, std::to_array<Http2Field>({{":status", "415"}}));
  http2_->DropBody(stream);
  http_.responses.Add(HttpRouteGroup::kNone, 415);
}

void GrpcSession::Last(Http2Stream& stream, std::unique_ptr<GrpcUpdates> updates) {
  ForgetEnded();
  if (lasting_.size() == kGrpcUpdatesMax) {
    return Fail(stream, {GrpcStatus::kResourceExhausted,
                         absl::StrCat("ERR a connection has at most ", kGrpcUpdatesMax,
                                      " calls that last")});
  }
  stream.may_last = true;
  http2_->Begin(stream, kAnswerFields);
  http2_->DropBody(stream);
  http_.responses.Add(MethodOf(stream)->group, 200);
  lasting_.push_back({stream.id, std::move(updates)});
}

void GrpcSession::ForgetEnded() {
  std::erase_if(lasting_, [&](const Lasting& call) { return !http2_->Find(call.stream); });
}

void GrpcSession::SendUpdates() {
  ForgetEnded();
  for (const Lasting& call : lasting_) {
    if (!call.updates->has_next(state())) continue;
    std::string body;
    AppendGrpcMessage(call.updates->Next(state()), body);
    http2_->Write(*http2_->Find(call.stream), body);
  }
}

void GrpcSession::EndWait(WaitEnd why) {
  if (end_ == Http2End::kShutdown) return;
  session_.EndWait(why);
  if (why == WaitEnd::kDemoted) return BeginEnd(Http2End::kDemotion, kGrpcLastCallsTime);
  end_ = Http2End::kShutdown;
}

void GrpcSession::BeginEnd(Http2End why, Nanos span) {
  const HostInstant end = worker_.services.clock.HostNow() + span;
  if (ends_at_ && *ends_at_ <= end) return;
  end_ = why;
  ends_at_ = end;
}

bool GrpcSession::IsTooOld(HostInstant now) const noexcept {
  const Nanos age = worker_.services.settings.Get(&Options::http_max_connection_age);
  return age > Nanos{0} && now - record_->connected >= SpreadAge(age, record_->id);
}

bool GrpcSession::IsDone(HostInstant now) const noexcept {
  if (end_ == Http2End::kShutdown) return true;
  if (!ends_at_) return false;
  const bool may_end_early = end_ == Http2End::kAge && http2_->streams() == 0;
  return now >= *ends_at_ - (may_end_early ? kGrpcCallTime - kGrpcLastCallsTime : Nanos{0});
}

void GrpcSession::End(HostInstant now, bool is_turn_over, std::string& out) {
  if (http2_->has_ended()) return;
  if (!end_ && IsTooOld(now)) BeginEnd(Http2End::kAge, kGrpcCallTime);
  if (!end_) return;
  if (end_ != Http2End::kShutdown && !std::exchange(is_announced_, true)) http2_->AnnounceEnd();
  if (!IsDone(now) || !is_turn_over) return;
  why_closed_ = *end_;
  http2_->EndNow(out);
}

// The connection is to be closed: says why, once.
void GrpcSession::NoteEnd() {
  closing_ = true;
  const Http2Flood flood = http2_->flood();
  if (flood != Http2Flood::kNone) {
    why_closed_ = flood == Http2Flood::kResets ? Http2End::kResets : Http2End::kControlFrames;
  } else if (http2_->is_broken()) {
    why_closed_ = Http2End::kProtocolError;
    worker_.counters["protocol_errors"].Add();
  } else {
    return;
  }
  if (const auto suppressed = worker_.services.http2_throttle.Admit()) {
    spdlog::warn("closed client {}: it sent {} ({} similar lines suppressed)", record_->address,
                 TextOf(flood), *suppressed);
  }
}

bool GrpcSession::has_news() const noexcept {
  if (closing_ || !http2_) return false;
  if (end_ == Http2End::kShutdown || (end_ && !is_announced_)) return true;
  if (!wants_ticks()) return false;
  const HostInstant now = worker_.services.clock.HostNow();
  if (IsDone(now) || (!end_ && IsTooOld(now))) return true;
  if (!complete_.empty() && !IsPaused()) return true;
  if (now >= http2_->FirstOverdue(kGrpcCallTime)) return true;
  return std::ranges::any_of(lasting_,
                             [&](const Lasting& call) { return call.updates->has_next(state()); });
}

bool GrpcSession::wants_ticks() const noexcept {
  if (!http2_) return false;
  const bool may_age = worker_.services.settings.Get(&Options::http_max_connection_age).count() > 0;
  return may_age || ends_at_ || has_calls();
}

bool GrpcSession::is_over() const noexcept {
  return ends_at_ && worker_.services.clock.HostNow() >= *ends_at_;
}

bool GrpcSession::is_logged_in() const noexcept {
  return !lasting_.empty() || session_.is_logged_in();
}

}  // namespace weir
