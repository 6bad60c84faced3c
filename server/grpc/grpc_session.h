// One client's side of a connection of HTTP/2, on which it makes calls of gRPC.
//
// Calls are answered when they are complete, in that order. An answer that waits, for a save or for
// replicas, is written in the turn behind the wait, since the bytes of fields depend on all that
// were sent before. The rules of a turn are those of every session (client_session.h). A unit of
// work is a frame that begins a call, resets or controls (frame_watch.h), and the answer of a
// complete call.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http2/grpc_status.h"
#include "http2/http2_session.h"
#include "server/grpc/grpc_method.h"
#include "server/http/http_services.h"
#include "server/http/remembered_login.h"
#include "server/session/client_session.h"
#include "server/session/delayed_replies.h"
#include "server/session/http2_counters.h"
#include "server/session/session.h"
#include "server/session/worker.h"

namespace weir {

// The time from the beginning of a call to the end of its answer, after which it is reset.
inline constexpr Nanos kGrpcCallTime = std::chrono::seconds{10};
// The most calls of a connection that last.
inline constexpr std::size_t kGrpcUpdatesMax = 8;
// The time after a demotion for which calls that are on their way are answered. The connection is
// closed at the tick behind it. One that has become too old ends after this time, too, if it has no
// calls, and at the latest after kGrpcCallTime.
inline constexpr Nanos kGrpcLastCallsTime = std::chrono::milliseconds{500};

// The age at which the connection of a client ends, by its number: from 0.9 to 1.1 of `age`, so
// that connections that began together do not end together. Numbers that follow each other lie far
// apart, as multiples of the golden ratio do.
[[nodiscard]] Nanos SpreadAge(Nanos age, std::uint64_t client) noexcept;

class GrpcSession final : public ClientSession, private Http2Receiver {
 public:
  // `http` must outlive the session.
  GrpcSession(Worker& worker, std::shared_ptr<ClientRecord> record, HttpServices& http);
  ~GrpcSession() override;

  [[nodiscard]] Turn Execute(std::string_view unread, std::string& out) override;
  void FinishDelayed(std::string& /*replies*/, const WaitOutcome& outcome) override {
    outcome_ = outcome;
  }
  void EndWait(WaitEnd why) override;
  [[nodiscard]] bool has_news() const noexcept override;
  [[nodiscard]] bool wants_ticks() const noexcept override;
  [[nodiscard]] bool has_calls() const noexcept override { return http2_ && http2_->streams() > 0; }
  [[nodiscard]] bool is_over() const noexcept override;
  // Health needs no login, so a client may stay while it has a call that lasts.
  [[nodiscard]] bool is_logged_in() const noexcept override;
  [[nodiscard]] std::size_t held_bytes() const override {
    return (http2_ ? http2_->held_bytes() : 0) + waiting_bytes_;
  }
  // Ends the conversation, too.
  void DropUnfinished() override;
  void OnSent() override {}

 private:
  // A call that is to be answered.
  struct Complete {
    std::int32_t stream;
    bool changes;  // a pause of changes holds it back
  };
  // A call whose answer waits.
  struct Waiting {
    std::int32_t stream;
    std::string message;
    Awaited awaited;
  };
  // A call that lasts.
  struct Lasting {
    std::int32_t stream;
    std::unique_ptr<GrpcUpdates> updates;
  };

  void OnProgress(Http2Stream& stream) override;
  [[nodiscard]] const GrpcMethod* MethodOf(const Http2Stream& stream) const {
    return FindGrpcMethod(stream.fields.path, http_);
  }
  // The error of a call that is already known to have one, or nothing.
  [[nodiscard]] std::optional<GrpcError> ErrorOf(const Http2Stream& stream) const;
  void AnswerWaiting();
  // True if a pause holds back the first complete call.
  [[nodiscard]] bool IsPaused() const noexcept;
  void RunComplete();
  void Run(Http2Stream& stream);
  void Answer(Http2Stream& stream, std::string_view message);
  void Fail(Http2Stream& stream, const GrpcError& error);
  void Refuse(Http2Stream& stream);
  void Last(Http2Stream& stream, std::unique_ptr<GrpcUpdates> updates);
  void ForgetEnded();
  void SendUpdates();
  // Ends the connection after `span`, unless it ends sooner.
  void BeginEnd(Http2End why, Nanos span);
  [[nodiscard]] bool IsTooOld(HostInstant now) const noexcept;
  // True if all that the client has begun before it was told of the end is answered.
  [[nodiscard]] bool IsDone(HostInstant now) const noexcept;
  // Does what the end asks for: of the server, of its role, or by age.
  void End(HostInstant now, bool is_turn_over, std::string& out);
  void NoteEnd();
  [[nodiscard]] GrpcState state() const noexcept {
    return {worker_.services, end_ == Http2End::kShutdown};
  }

  Worker& worker_;
  HttpServices& http_;
  const std::shared_ptr<ClientRecord> record_;
  Session session_;  // that acts for the client
  RememberedLogin login_;
  std::optional<Http2Session> http2_;  // until it is dropped
  std::deque<Complete> complete_;
  std::vector<Waiting> waiting_;   // of the last turn
  std::size_t waiting_bytes_ = 0;  // their messages
  WaitOutcome outcome_;            // of their wait
  std::vector<Lasting> lasting_;
  std::optional<Http2End> end_;         // a demotion, a shutdown or age, once it has begun
  std::optional<HostInstant> ends_at_;  // if that is no shutdown
  bool is_announced_ = false;           // the client was told to open no more calls
  bool closing_ = false;
  Http2End why_closed_ = Http2End::kClient;
};

}  // namespace weir
