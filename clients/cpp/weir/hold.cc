#include "weir/hold.h"

#include <utility>

#include "weir/core/hold_state.h"

namespace weir {

Hold::Hold(std::unique_ptr<client::HoldState> state) : state_(std::move(state)) {}

Hold::Hold(Hold&& other) noexcept = default;

Hold& Hold::operator=(Hold&& other) noexcept {
  if (this != &other) {
    if (state_) state_->Cancel();
    state_ = std::move(other.state_);
  }
  return *this;
}

Hold::~Hold() {
  if (state_) state_->Cancel();
}

bool Hold::is_open() const { return state_->is_open(); }

bool Hold::Settle(std::int64_t used) { return state_->Settle(used); }

bool Hold::SettleOrCharge(std::int64_t used) { return state_->SettleOrCharge(used); }

void Hold::Cancel() { state_->Cancel(); }

}  // namespace weir
