// A run of one primary and two replicas over bad links, all of it decided by a seed: changes of
// values that go up and down, FLUSHALL, policies, logs that overflow, ids that are given out again,
// rings that are too small, segments of any size, stalls, cuts at any byte, promotions, planned
// switches.
//
// It checks
//     R1   when nothing changes any more and the links hold, all states are equal
//     R2   each value of a replica that is not open is one that the primary had, and no older than
//          as of the offset that the replica has applied
//     R3   both, however often links are cut
//     R5   a promoted replica has no value that is older than as of the offset that it has
//          acknowledged as synced
//     R7   each promotion begins a term that is later than all that the server has been in
//     R9   a replica that the primary has yielded to has everything
//     R11  all of that, if some servers are of the next version, which sends frames of new kinds
// and that neither end ever finds fault with the other's bytes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/instant.h"
#include "replication/frame.h"
#include "replication/source.h"
#include "tests/replication/sim_server.h"

namespace weir {

// A mistake that is made on purpose, to see that the simulation finds it.
enum class PlantedBug {
  kNone,
  kForgetOpen,         // a replica does not say which partitions were open at the break
  kUnsaidSkip,         // the primary moves a cursor that is too old without a word
  kHeartbeatMoves,     // heartbeats count as bytes of the history
  kOffsetAfterCopy,    // the offset of a copy is read after it was made
  kNoNeed,             // SYNCED is sent before the replica's NEED has come
  kStalePolicies,      // no list of policies follows a SKIP
  kKeptPolicies,       // a list names policies that have changed as ones that have not
  kNoOverrides,        // the copy of a partition lacks its overrides
  kSeamlessPromotion,  // the ring of a promoted replica begins at the offset that it has applied
  kHastyYield,         // the last changes are not taken before the YIELD
  kUncountedKinds,     // a replica does not count the bytes of kinds that it does not know
  kHastyAck,           // an ACK counts for all that was sent
  kUndrainedIds,       // ids are given out again while changes that name them are in the logs
  kForgottenTerm,      // a promotion does not count the last primary's term
};

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed, PlantedBug bug = PlantedBug::kNone);

  // Returns what is wrong, or an empty string.
  [[nodiscard]] std::string Run();

 private:
  static constexpr std::size_t kServers = 3;

  // The link of a replica to the primary.
  struct Link {
    std::unique_ptr<Source> source;     // null: there is no link
    std::string out;                    // on the way to the replica
    std::string in;                     // on the way to the primary
    FrameReader reader;                 // of `in`
    std::uint64_t heartbeat_bytes = 0;  // for a bug
    std::uint64_t policies = 0;         // for a bug
    std::uint64_t acked = 0;            // the greatest offset that was acknowledged as synced
  };

  SimServer& primary() { return servers_[primary_]; }
  void Act();
  void ActOnLink(std::size_t replica);
  void Change();
  void Take();
  void TakeBackIds();
  void Connect(std::size_t replica);
  void Cut(std::size_t replica);
  void Pump(std::size_t replica);
  void AppendCopy(Link& link, const Source::Step& step);
  void MaybeAppendNewKind(const SimServer& sender, std::uint64_t offset, std::string& out);
  void Deliver(std::size_t replica, std::size_t bytes);
  void DeliverToPrimary(Link& link, std::size_t bytes);
  void Feed(std::size_t replica);
  void Promote();
  void Yield();
  void SwitchTo(std::size_t taker);
  void CheckValues(std::size_t replica);
  void CheckPromoted(std::size_t taker);
  [[nodiscard]] bool HasSince(std::uint64_t offset, const SimServer& server, std::size_t row);
  void CalmDown();
  void Fail(std::string what);

  // Changes the frames that the primary has appended to link.out from `begin` on, as the bug wants.
  void Distort(Link& link, std::size_t begin);

  // The values that the primary has had in its history, and how many of them each had when a frame
  // ended at an offset.
  struct AsOf {
    std::uint64_t offset;
    SimRows<std::uint32_t> counts;
  };
  void RecordValues();
  void BeginHistory();

  SimRandom random_;
  PlantedBug bug_;
  std::string error_;
  Instant now_;
  std::array<SimServer, kServers> servers_;
  std::array<Link, kServers> links_;  // that of the primary is unused
  std::size_t primary_ = 0;
  SimRows<std::vector<SimValue>> past_;
  std::vector<AsOf> as_of_;
  SimValue next_value_ = 1;
  unsigned histories_ = 0;
  std::array<std::uint64_t, kServers> seen_terms_{};  // the latest that each has been in

  // Chances of this run.
  std::size_t ring_bytes_;
  std::size_t flush_percent_;
  std::size_t cut_percent_;
  std::size_t promote_percent_;
  std::size_t start_over_percent_;
};

}  // namespace weir
