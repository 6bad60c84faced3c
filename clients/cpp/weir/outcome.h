// Outcome: the result of an action that ran, or why it did not.
//
//     if (auto said = greet("ann")) {
//       Use(*said);
//     } else {
//       Tell(said.limited().retry_after);
//     }
//
// Outcome<void> has no result, only operator bool, limited() and value().
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "weir/limited.h"

namespace weir {

template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T result) : either_(std::in_place_index<0>, std::move(result)) {}
  Outcome(Limited limited) : either_(std::in_place_index<1>, std::move(limited)) {}

  // Whether the action ran.
  explicit operator bool() const { return either_.index() == 0; }

  // The result. Requires: the action ran.
  T& operator*() { return std::get<0>(either_); }
  const T& operator*() const { return std::get<0>(either_); }
  T* operator->() { return &std::get<0>(either_); }
  const T* operator->() const { return &std::get<0>(either_); }

  // Requires: the action did not run.
  [[nodiscard]] const Limited& limited() const { return std::get<1>(either_); }

  // The result. Throws the Limited if the action did not run.
  T& value() {
    if (!*this) throw Limited(limited());
    return **this;
  }

 private:
  std::variant<T, Limited> either_;
};

template <>
class [[nodiscard]] Outcome<void> {
 public:
  Outcome() = default;
  Outcome(Limited limited) : limited_(std::move(limited)) {}

  explicit operator bool() const { return !limited_; }
  [[nodiscard]] const Limited& limited() const { return *limited_; }
  void value() const {
    if (limited_) throw Limited(*limited_);
  }

 private:
  std::optional<Limited> limited_;
};

}  // namespace weir
