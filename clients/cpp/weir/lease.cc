#include "weir/lease.h"

#include <utility>

#include "weir/core/lease_state.h"

namespace weir {

Lease::Lease(std::shared_ptr<client::LeaseState> state) : state_(std::move(state)) {}

Lease::Lease(Lease&& other) noexcept = default;

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    if (state_) state_->Release();
    state_ = std::move(other.state_);
  }
  return *this;
}

Lease::~Lease() {
  if (state_) state_->Release();
}

bool Lease::lost() const { return state_->lost(); }

bool Lease::Release() { return state_->Release(); }

}  // namespace weir
