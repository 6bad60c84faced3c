// The edge of one I/O thread: it decides what its clients ask on the tokens that it has in hand, or
// passes their commands on to the primary and gives them its replies, in the order of the commands
// of each client.
//
//     Run(call) -> here: the handler of the row        the reply is written at once
//               -> Edge decides                        likewise
//               -> Edge asks for a slice               a LateReply, which its answer fills
//               -> the link                            a LateReply, which the primary's reply fills
//
// A turn of a client whose replies are not all there waits as a whole (Awaited::Save::kUpstream):
// its commands went to the primary in one piece, and nothing more is read from it meanwhile. So the
// requests of a client that are under way are those of one turn, at most kWorkPerTurn.
//
// Belongs to the thread of its worker; nothing of it is shared with others but its numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "core/base/instant.h"
#include "edge/answer.h"
#include "edge/edge.h"
#include "server/edge/edge_link.h"
#include "server/net/io_thread.h"
#include "server/session/call.h"
#include "server/session/worker.h"
#include "server/state/edge_port.h"

namespace weir {

// The bytes to the primary from which on a client's turn ends with the command that it passes on,
// and no other turn begins. Each client may be one command behind it.
inline constexpr std::size_t kEdgeUnsentBytesMax = std::size_t{4} << 20;
// A primary that owes a reply is away when it has answered nothing for this time, for 8 round trips
// and for 2 ack-timeout.
inline constexpr std::chrono::seconds kEdgeSilenceMax{1};

class EdgeDesk final : public EdgePort, private EdgeLink::Owner, private Edge::Host {
 public:
  // `tls`: null if the link speaks plain text. All must outlive it.
  EdgeDesk(Worker& worker, asio::io_context& context, const SharedTlsContext* tls);

  void Run(Call& call) override;
  [[nodiscard]] bool is_full() const override {
    return link_.unsent_bytes() >= kEdgeUnsentBytesMax;
  }
  void Leave() override;

 private:
  // What edge-away may answer in place of an absent primary, unless it says `error`.
  enum class InPlace : std::uint8_t { kNoPrimary, kVerdict, kVerdictWithLimits };
  // A client's command that has no reply yet.
  struct Asked {
    const CommandSpec* spec = nullptr;
    std::shared_ptr<LateReply> reply{};
    std::shared_ptr<ClientRecord> client{};
    int protocol = 2;  // of the reply
    InPlace in_place = InPlace::kNoPrimary;
  };
  // A request that waits for a slice, as it would be passed on.
  struct Waiting {
    Asked asked{};
    std::string key{};
    std::string request{};
  };
  // The command or the ask that a reply of the primary answers.
  struct Expected {
    std::optional<Asked> asked{};  // nothing: the edge has asked
    PassedOn passed_on{};
    HostInstant sent{};
  };

  void OnInput() override { ReadClock(); }
  void OnUp(const PrimaryFacts& facts) override;
  void OnReply(std::string_view reply) override;
  void OnPush(std::string_view message) override;
  void OnQuiet() override;
  void OnDown() override;

  void Send(std::span<const std::string_view> words) override;
  void Answer(std::uint64_t ticket, const EdgeAnswer& answer) override;

  void RunHere(Call& call);
  void Allow(Call& call);
  // Counts a local verdict for RL.STATS and RL.TOP.
  void Count(std::string_view key, const EdgeAnswer& answer);
  void PassOn(Call& call, const PassedOn& passed_on);
  // Makes the reply to the call a late one.
  [[nodiscard]] Asked AskedBy(Call& call) const;
  // What is appended to the link's output after it answers that.
  void Expect(std::optional<Asked> asked, const PassedOn& passed_on);
  void AnswerAway(Call& call);
  void AnswerAway(Asked& asked);
  // For an RL.ALLOW without a mistake, as far as an edge sees, which knows no policies. Cost: none
  // while edge-away is `error`; else that of reading the request.
  [[nodiscard]] InPlace ReadInPlace(const Call& call) const;
  // The verdict of edge-away in place of an absent primary; nothing: NOPRIMARY. Counts it.
  [[nodiscard]] std::optional<EdgeAnswer> AwayVerdict(InPlace in_place);
  [[nodiscard]] std::string NoPrimary() const;
  // The reply is written, and its client is woken at the end of this step.
  void Finish(Asked& asked);
  void WakeAll();
  void ArmTimer();
  void OnTimer();
  void ShowNumbers();
  [[nodiscard]] HostInstant HostNow() const { return worker_.services.clock.HostNow(); }
  void ReadClock() { now_ = std::max(now_, HostNow()); }
  // When the primary counts as away if it answers nothing until then. Requires: it owes a reply.
  [[nodiscard]] HostInstant silence_end() const;

  Worker& worker_;
  EdgeLink link_;
  Edge edge_;
  asio::steady_timer timer_;
  std::optional<HostInstant> timer_at_;                  // while it runs
  std::deque<Expected> expected_;                        // in the order of the requests
  absl::flat_hash_map<std::uint64_t, Waiting> waiting_;  // by their tickets
  std::uint64_t last_ticket_ = 0;
  std::vector<std::shared_ptr<ClientRecord>> to_wake_;
  HostInstant now_{};    // of the present step; never goes back
  HostInstant heard_{};  // of the last reply
  bool has_left_ = false;
};

// Makes a thread that was not started one of an edge. `tls`: as above.
void BecomeEdge(IoThread& thread, const SharedTlsContext* tls);

}  // namespace weir
