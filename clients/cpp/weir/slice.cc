#include "weir/slice.h"

#include <optional>
#include <utility>

#include "weir/core/slice_state.h"

namespace weir {

Slice::Slice(std::shared_ptr<client::SliceState> state) : state_(std::move(state)) {}

Slice::Slice(Slice&& other) noexcept = default;

Slice& Slice::operator=(Slice&& other) noexcept {
  if (this != &other) {
    if (state_) state_->GiveBack();
    state_ = std::move(other.state_);
  }
  return *this;
}

Slice::~Slice() {
  if (state_) state_->GiveBack();
}

Outcome<void> Slice::Spend() {
  std::optional<Limited> limited = state_->Spend();
  return limited ? Outcome<void>(*std::move(limited)) : Outcome<void>();
}

void Slice::GiveBack() { state_->GiveBack(); }

}  // namespace weir
