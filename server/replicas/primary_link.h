// A replica's link to its primary: the thread weir-link connects, says where this server stands,
// and feeds a Sink what comes, until it is told to end.
//
//     connect -> TLS -> AUTH -> RL.SYNC -> NEED -> frames in, ACKs out -> (anything fails) ->
//     connect ...
//
// After a failure it tries again, first after 100 ms and at last every 3 s. A reason is logged
// once. If the server at the address is a replica itself, it names its own primary (a
// referral). The link asks that server next, and follows it from then on if it accepts.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include <asio/io_context.hpp>

#include "core/base/mutex.h"
#include "core/limiter/limiter.h"
#include "replication/lease.h"
#include "replication/lineage.h"
#include "replication/sink.h"
#include "replication/time_shift.h"
#include "server/config/settings.h"
#include "server/net/loop_thread.h"
#include "server/net/tls_context.h"
#include "server/net/transport.h"
#include "server/os/lineage_clock.h"
#include "server/state/replication.h"

namespace weir {

// The versions of the stream that this server speaks.
inline constexpr std::uint32_t kStreamVersionMin = 2;
inline constexpr std::uint32_t kStreamVersionMax = 2;

class PrimaryLink {
 public:
  // The server as the link needs it. Called on the link's thread.
  class Owner {
   public:
    virtual ~Owner() = default;
    // The history that this server is in.
    [[nodiscard]] virtual Lineage history() const = 0;
    // The primary has answered: the server is in its history from now on.
    virtual void Join(const HostAndPort& primary, std::uint64_t term, std::string_view history) = 0;
    // Whether that is an address of this server.
    [[nodiscard]] virtual bool IsOwn(const HostAndPort& address) const = 0;
    // The primary has yielded: this server is to become the primary. The link has ended.
    virtual void TakeOver() = 0;
    // The primary has refused to yield, as the request of that number asked. The link goes on.
    virtual void OnTakeoverRefused(std::uint64_t request) = 0;
    // Called after frames were applied. Logs the number of records that found no room, and once
    // that buckets are evicted.
    virtual void ReportDropped() = 0;
    // The state of the link has changed.
    virtual void Show(bool complete, bool up) = 0;
    // Notes that this server is in sync, for the first time since it has joined its primary.
    virtual void NoteInSync() = 0;
    // Requests a save, whose beginning and end it tells the link (NoteSaveBegun, NoteSaved).
    virtual void SaveSoon() = 0;
    // Returns whether the last save failed.
    [[nodiscard]] virtual bool is_save_failing() const = 0;
  };
  struct Parts {
    LoopThread& loop;  // the link's alone until it is destroyed
    const Settings& settings;
    Limiter& limiter;
    Sink& sink;             // likewise
    LeasePromise& promise;  // likewise
    LineageClock& clock;
    Owner& owner;
    const SharedTlsContext* tls;  // null: the link speaks plain text
    bool acks_from_disk;          // it acknowledges what is on this server's disk
  };
  struct Identity {
    std::string run_id;
    std::uint16_t port = 0;  // that clients of this server use
  };
  enum class Reason {
    kStart,  // the options or the record on disk say so
    kTold,   // a command says so, whatever the primary's term is
    kYield,  // this server has yielded to it: it will be a primary in a moment
  };

  // Begins to follow. Unless it was told so, a server follows only its own history, or a later
  // term: a primary that has lost its state must not empty its replicas. All references must
  // outlive it.
  PrimaryLink(const Parts& parts, HostAndPort primary, Identity own, Reason reason);
  // Ends following; End() waits for the thread, after the frames that it is applying. Neither waits
  // for the network.
  void Stop();
  void End();
  ~PrimaryLink();
  PrimaryLink(const PrimaryLink&) = delete;
  PrimaryLink& operator=(const PrimaryLink&) = delete;

  // Asks the primary to yield to this server, if the link is in sync. Any thread. If the link
  // fails after that, it does not connect again until ForgetTakeover(): the primary may have
  // yielded, and a connection would tell it that this server has not taken over.
  void AskToTakeOver(std::uint64_t request);
  void ForgetTakeover();
  // True from the request to yield on, until the primary yields or refuses, or ForgetTakeover().
  [[nodiscard]] bool awaits_yield() const noexcept { return awaits_yield_; }
  // Ends the connection if frames come on it, and begins the next. Any thread.
  void Reconnect();

  // Notes that a save begins, or that it has ended: all changes up to its beginning are on disk.
  // Any thread.
  void NoteSaveBegun();
  void NoteSaved();

  // Any thread.
  [[nodiscard]] LinkStatus status() const;
  // As Sink::shown.
  [[nodiscard]] std::optional<std::uint64_t> shown() const;
  // True once the primary has yielded on this link.
  [[nodiscard]] bool has_yielded() const noexcept { return has_yielded_; }

 private:
  void Run();
  // Follows until the link fails, and returns the reason; empty: it is to end.
  [[nodiscard]] std::string FollowOnce();
  [[nodiscard]] std::string Connect();
  [[nodiscard]] std::string ShakeHands();
  [[nodiscard]] std::string LogIn();
  [[nodiscard]] std::string Sync();
  [[nodiscard]] std::string Begin(const SyncAnswer& answer);
  void NoteReferral(std::string_view error);
  [[nodiscard]] std::string Apply();
  [[nodiscard]] std::string Take(std::string_view bytes, HostInstant now);
  void AppendAck(std::string& out);
  void SaveWhatIsNew();
  // Sends a request and reads its reply.
  [[nodiscard]] std::string Ask(std::span<const std::string_view> words,
                                std::vector<std::string>& reply);
  [[nodiscard]] std::string Send(std::string_view bytes);
  // Returns the number of bytes, or nothing if none has come within `wait`.
  [[nodiscard]] std::optional<std::size_t> ReceiveWithin(Nanos wait, std::error_code& error);
  template <typename Start>
  [[nodiscard]] std::error_code Await(Start start, Nanos time);
  [[nodiscard]] std::string ReasonOf(const std::error_code& error) const;
  [[nodiscard]] Nanos timeout() const { return settings_.Get(&Options::repl_timeout); }
  void ShowState(LinkState state);
  void Log(const std::string& reason);
  void Rest(Nanos time);
  void RunUntil(HostInstant deadline);

  const Settings& settings_;
  Limiter& limiter_;
  Sink& sink_;
  LeasePromise& promise_;
  LineageClock& clock_;
  Owner& owner_;
  const SharedTlsContext* const tls_;
  const bool acks_from_disk_;
  const Identity own_;

  LoopThread& loop_;
  asio::io_context& context_;  // the loop's
  std::optional<Transport> transport_;
  std::atomic<bool> ending_{false};
  std::atomic<bool> has_yielded_{false};
  std::atomic<bool> awaits_yield_{false};

  // Of the thread:
  HostAndPort primary_;
  std::optional<HostAndPort> referral_;  // the server to ask next, instead of the primary
  HostAndPort asked_;                    // in the present attempt
  Nanos first_rest_;                     // after the first failure
  bool was_told_;                        // until the primary has answered
  bool was_synced_ = false;              // by this primary
  bool was_fed_ = false;                 // synced in the present attempt
  bool is_up_ = false;
  bool watches_input_ = false;
  bool has_input_ = false;
  bool asks_to_take_over_ = false;
  std::uint64_t request_ = 0;      // the number of that request
  std::size_t requests_sent_ = 0;  // on this link
  bool owes_ack_ = false;
  std::optional<std::uint64_t> asked_to_save_;  // up to this offset, of the present attempt
  bool wakes_ = false;                          // ends a rest
  bool applies_ = false;                        // frames come on the connection
  bool reconnects_ = false;                     // ends it
  bool was_answered_ = false;                   // in the present attempt
  std::string pending_;                         // input that is not read yet
  std::vector<char> input_;
  TimeShift shift_;
  bool follows_time_ = false;     // the clock has that of this primary
  std::set<std::string> logged_;  // the reasons since the link was last in sync

  mutable Mutex mutex_;
  LinkStatus status_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::uint64_t> shown_ ABSL_GUARDED_BY(mutex_);
  // Of the present attempt: shown_ as of the save under way, and of the last one that has ended.
  std::optional<std::uint64_t> saving_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::uint64_t> saved_ ABSL_GUARDED_BY(mutex_);
  HostInstant last_io_ ABSL_GUARDED_BY(mutex_){};
  HostInstant down_since_ ABSL_GUARDED_BY(mutex_){};
  Instant exact_time_ ABSL_GUARDED_BY(mutex_){};
};

}  // namespace weir
