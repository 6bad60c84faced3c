// The forms that an edge knows more of than how often they are asked for: hot ones, and those that
// are denied. At most 16,384 and 24 MiB; the least recently used make room.
//
// A form is known by 64 bits of a keyed hash, as a key is in the tables of a server: two of 16,384
// forms coincide with probability 7 in 10^12.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>

#include "absl/container/flat_hash_map.h"

#include "core/base/instant.h"
#include "edge/form_state.h"

namespace weir {

inline constexpr std::size_t kFormsMax = 16'384;
inline constexpr std::size_t kFormBytesOfAllMax = std::size_t{24} << 20;

struct Form {
  std::uint64_t hash;
  std::string text{};  // request_words.h; empty until it is needed
  FormState state{};
  std::size_t bytes = 0;  // as the table counts it
};

class FormTable {
 public:
  using List = std::list<Form>;

  [[nodiscard]] std::size_t size() const noexcept { return forms_.size(); }
  // The most recently used first.
  [[nodiscard]] List& forms() noexcept { return forms_; }
  [[nodiscard]] const List& forms() const noexcept { return forms_; }

  // Returns the form; null if it is not here.
  [[nodiscard]] Form* Find(std::uint64_t hash) {
    const auto found = index_.find(hash);
    return found == index_.end() ? nullptr : &*found->second;
  }
  // Returns the form likewise, which is then the most recently used.
  [[nodiscard]] Form* Use(std::uint64_t hash) {
    const auto found = index_.find(hash);
    if (found == index_.end()) return nullptr;
    if (found->second != forms_.begin()) forms_.splice(forms_.begin(), forms_, found->second);
    return &forms_.front();
  }
  // Requires: it is not here, and the table is not full.
  Form& Add(std::uint64_t hash) {
    forms_.push_front({.hash = hash});
    index_.emplace(hash, forms_.begin());
    Measure(forms_.front());
    return forms_.front();
  }
  // Counts the bytes of a form whose text or rows have changed.
  void Measure(Form& form) {
    constexpr std::size_t kOfTable = 64;
    bytes_ -= form.bytes;
    form.bytes = sizeof(Form) + kOfTable + form.text.capacity() + form.state.row_bytes();
    bytes_ += form.bytes;
  }
  [[nodiscard]] bool is_full() const noexcept {
    return forms_.size() >= kFormsMax || bytes_ >= kFormBytesOfAllMax;
  }
  // Requires: there is one.
  void DropOldest() {
    bytes_ -= forms_.back().bytes;
    index_.erase(forms_.back().hash);
    forms_.pop_back();
  }

 private:
  List forms_;
  absl::flat_hash_map<std::uint64_t, List::iterator> index_;
  std::size_t bytes_ = 0;
};

}  // namespace weir
