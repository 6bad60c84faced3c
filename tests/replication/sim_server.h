// A server of the simulation: a few keys in five of the 4,096 partitions, four policies, four
// overrides in four of the partitions, the logs of their changes, and either a ring or a sink.
//
// Values are arbitrary numbers, so an older value that overwrites a newer one is noticed. A log
// that is too long overflows and costs a GAP, as a ChangeLog does. Logs name keys by ids, which are
// given out again, as those of limits are. A server of the next version puts frames of new kinds
// into its history, too.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/instant.h"
#include "core/table/partition_set.h"
#include "replication/frame.h"
#include "replication/history.h"
#include "replication/ring.h"
#include "replication/sink.h"

namespace weir {

// The simulation's source of numbers: SplitMix64, fast to seed.
class SimRandom {
 public:
  explicit SimRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }
  std::size_t Below(std::size_t end) { return Next() % end; }
  bool Percent(std::size_t percent) { return Below(100) < percent; }

 private:
  std::uint64_t state_;
};

using SimValue = std::uint32_t;  // 0: none

// The rows of a server's state: the partitions that have keys, the policies, and the overrides, of
// which each is in the partition of its number.
inline constexpr std::array<std::uint16_t, 5> kSimPartitions = {0, 63, 64, 1000, 4095};
inline constexpr std::size_t kPolicyRow = kSimPartitions.size();
inline constexpr std::size_t kOverrideRow = kPolicyRow + 1;
inline constexpr std::size_t kSimRows = kOverrideRow + 1;
inline constexpr std::size_t kSimKeys = 4;
template <typename T>
using SimRows = std::array<std::array<T, kSimKeys>, kSimRows>;

// Kinds of the next version.
inline constexpr FrameKind kNewNumberedKind{130};
inline constexpr FrameKind kNewKind{200};

class SimServer final : public SinkTarget {
 public:
  // --- As a primary ---

  // Its ring has all changes that Take has taken. `head`: the ring is empty, and begins there.
  void BecomePrimary(std::unique_ptr<Ring> ring);
  void Set(std::size_t row, std::size_t key, SimValue value);
  void FlushAll();
  void Take(Instant now);
  // Takes back the ids of the keys that have no value in any partition. Requires: nothing has
  // changed since Take.
  void TakeBackIds();
  [[nodiscard]] bool is_primary() const { return ring != nullptr; }

  // Bodies of copies.
  [[nodiscard]] std::string CopyPartition(std::uint16_t partition) const;
  // Nothing if the partition has no override.
  [[nodiscard]] std::string CopyOverrides(std::uint16_t partition) const;
  [[nodiscard]] std::string ListPolicies(std::optional<std::uint64_t> as_of) const;

  // --- As a replica ---

  void BecomeReplica(const Sink::State& state);
  void SetTime(Instant) override {}
  std::optional<PartitionSet> ApplyChanges(std::string_view body, Instant time) override;
  std::optional<std::uint16_t> ApplyOverrides(std::string_view body, bool is_first) override;
  std::optional<std::uint16_t> ApplyPartition(std::string_view body, Part part,
                                              Instant time) override;
  std::optional<PoliciesTouched> ApplyPolicies(std::string_view body) override;
  bool ApplyPolicyList(std::string_view body, Part part) override;
  void Flush(TableGeneration generation) override;

  SimRows<SimValue> values{};
  History history;
  bool is_newer = false;  // it is of the next version
  std::unique_ptr<Ring> ring;
  std::unique_ptr<Sink> sink;

 private:
  struct Change {
    std::uint8_t id;  // of the key; in the rows of policies and overrides, the key
    SimValue value;
  };
  struct Log {
    std::vector<Change> changes;
    bool overflowed = false;
  };
  void ClearTable();
  [[nodiscard]] std::uint8_t IdOf(std::size_t key);

  std::array<std::uint8_t, kSimKeys> key_of_{};  // by id; the last one of an id that is free
  std::array<bool, kSimKeys> given_out_{};       // by id
  std::array<Log, kSimRows> logs_;
  std::string partition_parts_;
  std::optional<SimValue> copied_override_;  // among the parts of a partition
  std::string policy_parts_;
  bool flushed_ = false;
  std::uint32_t generation_ = 0;
};

}  // namespace weir
