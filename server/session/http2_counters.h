// Counts the connections that speak HTTP/2, and those that did, by their end. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir {

// Why a connection has ended.
enum class Http2End : std::uint8_t {
  kClient,         // the client left, or was closed for a reason that any connection may have
  kProtocolError,  // the client broke the protocol
  kResets,         // it reset too many calls
  kControlFrames,  // it sent too many frames without calls
  kDemotion,       // the server became a replica
  kShutdown,       // the server stops
  kAge,            // http-max-connection-age
};
inline constexpr auto kHttp2EndNames = std::to_array<std::string_view>(
    {"client", "protocol_error", "resets", "control_frames", "demotion", "shutdown", "age"});

class Http2Counters {
 public:
  void Open() noexcept { open_.fetch_add(1, std::memory_order_relaxed); }
  void Close(Http2End why) noexcept {
    open_.fetch_sub(1, std::memory_order_relaxed);
    closed_[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t open() const noexcept {
    return open_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t closed(Http2End why) const noexcept {
    return closed_[static_cast<std::size_t>(why)].load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> open_{0};
  std::array<std::atomic<std::uint64_t>, kHttp2EndNames.size()> closed_{};
};

}  // namespace weir
