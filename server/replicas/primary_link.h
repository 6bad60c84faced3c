// A link of a replica to its primary: the thread weir-link connects, says where this server stands,
// and feeds the sink what comes, until anything fails or Stop() is called. The next link is
// another object.
//
//     connect -> TLS -> AUTH -> RL.SYNC -> SyncAnswered ... Join -> NEED -> frames in, ACKs out
//
// The link posts events for the role machine (replication/role_events.h). The last one is
// LinkEnded, and comes exactly once. The link logs its reason.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include <asio/io_context.hpp>

#include "core/base/mutex.h"
#include "core/base/thread_role.h"
#include "replication/lease.h"
#include "replication/role_events.h"
#include "replication/time_shift.h"
#include "server/net/loop_thread.h"
#include "server/net/tls_context.h"
#include "server/net/transport.h"
#include "server/os/followed_clock.h"
#include "server/replicas/followed_history.h"
#include "server/session/services.h"
#include "server/state/replication.h"

namespace weir {

// The versions of the stream that this server speaks.
inline constexpr std::uint32_t kStreamVersionMin = 2;
inline constexpr std::uint32_t kStreamVersionMax = 2;

class PrimaryLink {
 public:
  struct Dependencies {
    LoopThread& loop;  // the link's alone until it is destroyed
    Services& services;
    FollowedClock& clock;
    FollowedHistory& followed;    // likewise
    const SharedTlsContext* tls;  // null: the link speaks plain text
    std::function<void(RoleEvent)> post;
  };

  // Begins to connect. `term`: of the history that this server has. All references must outlive it.
  PrimaryLink(const Dependencies& dependencies, OpenLink open, std::uint64_t term);
  // Stop() tells the link to end. End() also waits for its thread, which first applies the frames
  // that it has read. Neither waits for the network.
  void Stop();
  void End();
  ~PrimaryLink();
  PrimaryLink(const PrimaryLink&) = delete;
  PrimaryLink& operator=(const PrimaryLink&) = delete;

  // --- Any thread ---

  // Continues after SyncAnswered: the server joins the primary's history.
  void Join();
  // Asks the primary to yield to this server, if the link is in sync.
  void AskToTakeOver();
  // Ends the link if it already applies frames.
  void Break();

  // A save begins, or has ended: all changes up to its beginning are on disk.
  void OnSaveBegun();
  void OnSaved();

 private:
  void Run();
  // Follows until the link fails, and returns the reason; OK: it is to end.
  [[nodiscard]] absl::Status Follow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  [[nodiscard]] absl::Status Connect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  [[nodiscard]] absl::Status ShakeHands() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  [[nodiscard]] absl::Status LogIn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  [[nodiscard]] absl::Status Sync() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void PostRefusal(const absl::Status& refused) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  [[nodiscard]] absl::Status Begin(const SyncAnswer& answer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  [[nodiscard]] absl::Status Apply() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  [[nodiscard]] absl::Status Take(std::string_view bytes, HostInstant now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void FollowTime(HostInstant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void PostFacts() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void AppendAck(std::string& out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void AppendTakeover(std::string& out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void SaveWhatIsNew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  // Sends a request and reads its reply.
  [[nodiscard]] absl::Status Ask(std::span<const std::string_view> words,
                                 std::vector<std::string>& reply)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  [[nodiscard]] absl::Status Send(std::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  // Returns the number of bytes, or nothing if none has come within `wait`.
  [[nodiscard]] std::optional<std::size_t> ReceiveWithin(Nanos wait, std::error_code& error)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  template <typename Start>
  [[nodiscard]] std::error_code Await(Start start, Nanos time)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  [[nodiscard]] absl::Status ErrorOf(const std::error_code& error) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  [[nodiscard]] Nanos timeout() const { return services_.settings.Get(&Options::repl_timeout); }
  [[nodiscard]] bool acks_from_disk() const { return services_.state && services_.state->always(); }
  void ShowState(LinkState state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void RunUntil(HostInstant deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);

  Services& services_;
  FollowedClock& clock_;
  FollowedHistory& followed_;
  Sink& sink_;
  const SharedTlsContext* const tls_;
  const std::function<void(RoleEvent)> post_;
  const OpenLink open_;
  const std::uint64_t term_;

  LoopThread& loop_;
  asio::io_context& context_;  // the loop's
  std::atomic<bool> ending_{false};

  ThreadRole thread_;  // of weir-link
  std::optional<Transport> transport_ ABSL_GUARDED_BY(thread_);
  bool has_joined_ ABSL_GUARDED_BY(thread_) = false;
  bool has_yielded_ ABSL_GUARDED_BY(thread_) = false;
  bool was_fed_ ABSL_GUARDED_BY(thread_) = false;    // frames have come
  bool was_exact_ ABSL_GUARDED_BY(thread_) = false;  // as the role machine knows it, as the next
  bool was_synced_ ABSL_GUARDED_BY(thread_) = false;
  bool watches_input_ ABSL_GUARDED_BY(thread_) = false;
  bool has_input_ ABSL_GUARDED_BY(thread_) = false;
  bool asks_to_take_over_ ABSL_GUARDED_BY(thread_) = false;
  std::size_t requests_ ABSL_GUARDED_BY(thread_) = 0;   // to yield, that were sent
  bool awaits_yield_ ABSL_GUARDED_BY(thread_) = false;  // they are not answered yet
  bool owes_ack_ ABSL_GUARDED_BY(thread_) = false;
  std::optional<std::uint64_t> asked_to_save_ ABSL_GUARDED_BY(thread_);  // up to this offset
  bool applies_ ABSL_GUARDED_BY(thread_) = false;                        // frames come
  bool breaks_ ABSL_GUARDED_BY(thread_) = false;
  bool was_answered_ ABSL_GUARDED_BY(thread_) = false;
  std::string pending_ ABSL_GUARDED_BY(thread_);  // input that is not read yet
  std::vector<char> input_ ABSL_GUARDED_BY(thread_);
  TimeShift shift_ ABSL_GUARDED_BY(thread_);
  LeasePromise promise_ ABSL_GUARDED_BY(thread_);

  // As of the save under way, and of the last one that has ended: LinkFacts::shown at its
  // beginning.
  Mutex mutex_;
  std::optional<std::uint64_t> saving_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::uint64_t> saved_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
