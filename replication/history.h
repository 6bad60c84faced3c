// The name of a history and this server's place in it: what decides how much of its state another
// server can keep when it joins.
//
// A history is the stream of one primary: a random id, and offsets that count bytes (frame.h). A
// replica that is promoted begins a history of its own, which is the same as the old one up to the
// offset that it had, and continues from there.
//
// Plain values; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/host_and_port.h"
#include "core/base/instant.h"

namespace weir {

inline constexpr std::size_t kHistoryIdBytes = 40;
inline constexpr std::size_t kPrimaryHostBytesMax = 255;

// True for 40 lower-case hexadecimal digits.
[[nodiscard]] bool IsHistoryId(std::string_view text) noexcept;

struct History {
  std::uint64_t term = 0;       // goes up by one with each promotion; 0: there was never a replica
  std::uint64_t seen_term = 0;  // the latest that this server has heard of
  std::string id{};             // empty: none, of a server that has nothing to resume from
  std::string previous{};       // the id up to `until`; empty: none
  std::uint64_t until = 0;
  std::uint64_t offset =
      0;  // that this server's state is exact as of: of a primary, its ring's head
  // A command has given the server its role, which then wins over its options.
  bool was_told = false;
  bool is_replica = false;
  // A command has told the server to follow its primary, whatever term that primary has, and the
  // server has not joined it yet.
  bool joins_any = false;
  // A primary that knows of a later one: it admits nothing until a command gives it a role.
  bool is_deposed = false;
  bool had_replicas = false;  // one was in sync with this primary since the term began
  // This server's state may lack what it has acknowledged or answered: it was not stopped cleanly,
  // or was restored, and neither served nor was in sync since. A later clean stop does not change
  // this.
  bool lacks = false;
  // Of SentinelWatch; none: no hello was heard.
  std::optional<std::uint64_t> sentinel_floor{};
  HostAndPort primary{};  // of a replica: the server that it follows, as it was spelled
  // The term in which this server, then a primary, gave its role to the one that it follows; 0:
  // it did not.
  std::uint64_t yielded_in = 0;
  // The time of decisions less the host's clock, of a server that is not a replica. It continues
  // the time of a primary that the server has followed; 0: it never followed one.
  Nanos clock_shift{0};

  // The offset up to which this history is the same as that of a server at `from_offset` of the
  // history `from_id`. Nothing: they share nothing that this server knows of.
  [[nodiscard]] std::optional<std::uint64_t> Common(std::string_view from_id,
                                                    std::uint64_t from_offset) const;

  // Begins a history of its own, at the offset up to which the state is exact. Its term is one
  // above seen_term. Requires: IsHistoryId(new_id).
  void Promote(std::uint64_t at, std::string_view new_id);

  // Becomes the history of the primary that this server follows. After a command its term may be an
  // earlier one. Requires: IsHistoryId(id).
  void Follow(std::uint64_t new_term, std::string_view new_id);

  // From now on no server can continue from this one's state.
  void ForgetId();

  // Whether this history's primary must stop when it meets the other one's. The later term wins; of
  // two histories of the same term, the greater id.
  [[nodiscard]] bool LosesTo(std::uint64_t other_term, std::string_view other_id) const;

  friend bool operator==(const History&, const History&) = default;
};

// The value of the record "history" in a data directory:
//
//     version:u8 = 1 flags:u8 term:u64 seen-term:u64 offset:u64 until:u64 [id: 40 bytes]
//     [previous: 40 bytes] host-bytes:u8 host port:u16 [floor:u64] [more:u8]
//     [yielded-in:u64] [clock-shift:i64 in ns]
//
//     flags: 1 id, 2 previous, 4 is a replica, 8 was told, 16 is deposed, 32 joins any, 64 floor,
//            128 had replicas
//     more:  1 lacks, 2 yielded in a term, 4 a clock shift; left out by servers before 0.2.0, which
//            knew none of these
//
// Requires: ids that are empty or IsHistoryId, and a host of at most kPrimaryHostBytesMax bytes.
[[nodiscard]] std::string HistoryValue(const History& history);
// Returns nothing for bytes that no version of HistoryValue writes.
[[nodiscard]] std::optional<History> ReadHistoryValue(std::string_view bytes);

}  // namespace weir
