// Numbers that only name something (an id, a generation), each kind a type of its own: no id of a
// limit is taken for one of a policy, or counted with, by accident.
//
// Such a type is an enumeration without enumerators, `enum class LimitId : std::uint32_t {}`. It
// compares and hashes as its number does, and costs what the number costs. Pure.
#pragma once

#include <type_traits>

namespace weir {

template <typename T>
concept IdType = std::is_enum_v<T> && !std::is_convertible_v<T, std::underlying_type_t<T>>;

template <IdType Id>
[[nodiscard]] constexpr std::underlying_type_t<Id> NumberOf(Id id) noexcept {
  return static_cast<std::underlying_type_t<Id>>(id);
}

// The id after this one; after the greatest comes 0.
template <IdType Id>
[[nodiscard]] constexpr Id Next(Id id) noexcept {
  return static_cast<Id>(NumberOf(id) + 1);
}

}  // namespace weir
