#include "server/observe/outbox.h"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

namespace weir {

Outbox::Outbox(Outboxes& all, std::shared_ptr<ClientRecord> record)
    : all_(all), record_(std::move(record)) {
  MutexLock lock(all_.mutex_);
  all_.outboxes_.push_back(this);
}

Outbox::~Outbox() {
  MutexLock lock(all_.mutex_);
  all_.Release(*this, held_bytes_);
  std::erase(all_.outboxes_, this);
}

void Outbox::Append(std::string_view bytes) {
  MutexLock lock(all_.mutex_);
  if (record_->killed.load(std::memory_order_relaxed)) return;
  all_.Add(*this, bytes);
  if (held_bytes_ > Outboxes::kBytesOfOneMax) return all_.Close(*this);
  while (all_.held_bytes_ > Outboxes::kBytesOfAllMax) {
    all_.Close(**std::ranges::max_element(all_.outboxes_, {}, &Outbox::held_bytes_));
  }
}

bool Outbox::Offer(std::string_view bytes) {
  MutexLock lock(all_.mutex_);
  if (record_->killed.load(std::memory_order_relaxed)) return true;
  const bool is_behind = held_bytes_ + bytes.size() > Outboxes::kBytesBehindMax;
  const bool has_read_all = held_bytes_ == 0 && bytes.size() <= Outboxes::kSmallBytesMax;
  const std::size_t more = has_read_all ? Outboxes::kSmallBytesOfAllMax : 0;
  const bool is_full = all_.held_bytes_ + bytes.size() > Outboxes::kBytesOfAllMax + more;
  if (is_behind || is_full) return false;
  all_.Add(*this, bytes);
  return true;
}

std::string Outbox::Take() {
  MutexLock lock(all_.mutex_);
  has_bytes_.store(false, std::memory_order_relaxed);
  return std::exchange(bytes_, {});
}

void Outbox::OnSent() {
  MutexLock lock(all_.mutex_);
  all_.Release(*this, held_bytes_ - bytes_.size());
}

void Outboxes::Add(Outbox& outbox, std::string_view bytes) {
  outbox.bytes_ += bytes;
  outbox.held_bytes_ += bytes.size();
  held_bytes_ += bytes.size();
  if (!outbox.has_bytes_.exchange(true, std::memory_order_relaxed)) outbox.record_->Wake();
}

void Outboxes::Release(Outbox& outbox, std::size_t bytes) {
  outbox.held_bytes_ -= bytes;
  held_bytes_ -= bytes;
}

void Outboxes::Close(Outbox& outbox) {
  ClientRecord& record = *outbox.record_;
  if (const auto suppressed = throttle_.Admit()) {
    spdlog::warn(
        "closed client {}: it does not read what it subscribes to ({} similar lines "
        "suppressed)",
        record.address, *suppressed);
  }
  std::string().swap(outbox.bytes_);
  Release(outbox, outbox.held_bytes_);
  record.killed.store(true, std::memory_order_relaxed);
  record.Wake();
}

}  // namespace weir
