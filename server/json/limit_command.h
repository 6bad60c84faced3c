// The commands about limits that have a path of their own under /v1, and the fields of a request to
// each. The reader of requests (limit_request_reader.h) has the form of these fields.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace weir {

// A field of a request, or none.
enum class LimitField : std::uint8_t {
  kNone,
  kKey,
  kLimits,
  kCost,
  kAnd,
  kDetails,
  kUpto,
  kHold,
  kTtl,
  kDo
};

// A set of fields.
class LimitFields {
 public:
  constexpr LimitFields() = default;
  constexpr LimitFields(std::initializer_list<LimitField> fields) {
    for (const LimitField field : fields) Add(field);
  }

  constexpr void Add(LimitField field) noexcept { bits_ |= BitOf(field); }
  [[nodiscard]] constexpr bool Has(LimitField field) const noexcept {
    return (bits_ & BitOf(field)) != 0;
  }
  [[nodiscard]] constexpr bool HasAll(LimitFields fields) const noexcept {
    return (fields.bits_ & ~bits_) == 0;
  }

 private:
  static constexpr unsigned BitOf(LimitField field) noexcept {
    return 1U << static_cast<unsigned>(field);
  }

  unsigned bits_ = 0;
};

struct LimitCommand {
  std::string_view name;     // "allow"
  std::string_view command;  // "RL.ALLOW"
  // The fields that a request may have, and those that it must have. "limits" may be empty, or
  // missing, unless it is among the latter.
  LimitFields takes;
  LimitFields needs;
};

// Null if there is none.
[[nodiscard]] const LimitCommand* FindLimitCommand(std::string_view name) noexcept;

// The names of all commands: "allow, ... or take".
inline constexpr std::string_view kLimitCommandNames =
    "allow, cancel, charge, commit, peek, refund, reserve or take";

}  // namespace weir
