// The edge of one I/O thread: it decides what its clients ask on the tokens that it has in hand, or
// passes their commands on to the primary and gives them its replies, in the order of the commands
// of each client.
//
//     Run(call) -> here: the handler of the row        the reply is written at once
//               -> Edge decides                        likewise
//               -> Edge asks for a slice               a LateReply, which Edge's answer fills
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
#include <string>
#include <string_view>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "core/base/instant.h"
#include "server/edge/edge_link.h"
#include "server/net/io_thread.h"
#include "server/session/call.h"
#include "server/session/worker.h"
#include "server/state/edge_port.h"

namespace weir {

// The bytes to the primary from which on a client's turn ends with the command that it passes on.
inline constexpr std::size_t kEdgeUnsentBytesMax = std::size_t{4} << 20;
// The silence of a primary that owes a reply after which it is away: this, or 8 round trips if that
// is longer.
inline constexpr std::chrono::seconds kEdgeSilenceMax{1};

class EdgeDesk final : public EdgePort, private EdgeLink::Owner {
 public:
  // `tls`: null if the link speaks plain text. All must outlive it.
  EdgeDesk(Worker& worker, asio::io_context& context, const SharedTlsContext* tls);

  void Run(Call& call) override;
  void Leave() override;

 private:
  // What the next reply of the primary is for.
  struct Expected {
    std::shared_ptr<LateReply> reply{};      // null: no client waits for it
    std::shared_ptr<ClientRecord> client{};  // that waits
    const CommandSpec* spec = nullptr;
    HostInstant sent{};
  };

  void OnUp(const PrimaryFacts& facts) override;
  void OnReply(std::string_view reply) override;
  void OnPush(std::string_view message) override;
  void OnQuiet() override;
  void OnDown() override;

  void PassOn(Call& call);
  // The five numbers of edge-away in place of an absent primary; nothing: NOPRIMARY. Counts them.
  using VerdictReply = std::array<std::int64_t, 5>;
  [[nodiscard]] std::optional<VerdictReply> AwayVerdict(const CommandSpec& spec);
  [[nodiscard]] std::string NoPrimary() const;
  // The reply is written, and its client is woken at the end of this step.
  void Finish(Expected& expected);
  void WakeAll();
  void ArmTimer();
  void OnTimer();
  [[nodiscard]] Nanos silence_max() const noexcept {
    return std::max<Nanos>(kEdgeSilenceMax, 8 * rtt_);
  }

  Worker& worker_;
  EdgeLink link_;
  asio::steady_timer timer_;
  std::optional<HostInstant> timer_at_;  // while it runs
  std::deque<Expected> expected_;        // in the order of the requests
  std::vector<std::shared_ptr<ClientRecord>> to_wake_;
  Nanos rtt_{0};                        // smoothed
  std::optional<HostInstant> read_at_;  // when the replies came that are being told
};

// Makes a thread that was not started one of an edge. `tls`: as above.
void BecomeEdge(IoThread& thread, const SharedTlsContext* tls);

}  // namespace weir
