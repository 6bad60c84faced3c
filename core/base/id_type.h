// Numbers that only name something (an id, a generation), with a type for each kind, so that a
// limit's id cannot be mistaken for a policy's id or used in arithmetic.
//
// Such a type is an enumeration without enumerators, `enum class LimitId : std::uint32_t {}`. It
// compares and hashes like its number, at the same cost. Pure.
#pragma once

#include <type_traits>

namespace weir {

template <typename T>
concept IdType = std::is_enum_v<T> && !std::is_convertible_v<T, std::underlying_type_t<T>>;

template <IdType Id>
[[nodiscard]] constexpr std::underlying_type_t<Id> NumberOf(Id id) noexcept {
  return static_cast<std::underlying_type_t<Id>>(id);
}

// The id after `id`; after the greatest comes 0.
template <IdType Id>
[[nodiscard]] constexpr Id Next(Id id) noexcept {
  return static_cast<Id>(NumberOf(id) + 1);
}

}  // namespace weir
