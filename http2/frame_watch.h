// Watches the frames of a client of HTTP/2 before the library reads them, and finds floods: a frame
// costs a client less to send than a server to read.
//
//     const auto [bytes, units] = watch.Look(input, now, units_max);
//     if (watch.flood() != Http2Flood::kNone) ... close the connection
//
// A client may send at once 10,000 resets of streams (RST_STREAM), and 1,000 a second, besides one
// for each complete call: an honest proxy resets each call that takes longer than it waits. Of the
// frames that control (PING, SETTINGS, PRIORITY, WINDOW_UPDATE, those of unknown types, and DATA
// without data, but for the end of a stream) it may send 1,000 at once and 100 a second, besides 10
// for each complete call.
//
// Not thread safe. Cost: a few nanoseconds a frame, no memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/instant.h"

namespace weir {

// The kind of frames that a client floods with.
enum class Http2Flood : std::uint8_t { kNone, kResets, kControl };

// Admits `burst` frames at once, and one each `interval`.
class Http2FrameAllowance {
 public:
  constexpr Http2FrameAllowance(Nanos interval, std::int64_t burst) noexcept
      : interval_(interval), debt_max_(interval * burst) {}

  // Takes one frame. Returns false, and takes nothing, if there is none left.
  [[nodiscard]] bool Take(HostInstant now) noexcept;
  // Gives back that many frames, up to the burst.
  void GiveBack(std::int64_t frames) noexcept;

 private:
  Nanos interval_;
  Nanos debt_max_;
  Nanos debt_{0};  // at last_
  HostInstant last_{};
};

class Http2FrameWatch {
 public:
  Http2FrameWatch() noexcept;

  struct Read {
    std::size_t bytes = 0;  // of the input, which the library may read now
    std::size_t units = 0;  // of work: frames among them that begin a call, reset or control
  };
  // Looks at bytes of the client, from its preface on, until the input ends, `units_max` such
  // frames are whole, or a flood is found: then the last frame is one too many.
  [[nodiscard]] Read Look(std::string_view input, HostInstant now, std::size_t units_max);

  // A call is complete, which permits further frames.
  void CountCall() noexcept {
    resets_.GiveBack(1);
    control_.GiveBack(10);
  }

  [[nodiscard]] Http2Flood flood() const noexcept { return flood_; }

 private:
  // Takes one byte of a frame's head. Returns true if the frame's kind is known with it.
  bool TakeHeadByte(std::uint8_t byte) noexcept;
  // Returns true for a frame that is a unit of work.
  bool Count(HostInstant now) noexcept;

  Http2FrameAllowance resets_{std::chrono::milliseconds(1), 10'000};
  Http2FrameAllowance control_{std::chrono::milliseconds(10), 1'000};
  std::size_t skip_;            // bytes until the next head
  std::size_t head_bytes_ = 0;  // of the present head
  std::uint32_t length_ = 0;
  std::uint8_t type_ = 0;
  std::uint8_t flags_ = 0;
  std::uint8_t padding_ = 0;
  int continuations_ = 0;             // of the last HEADERS
  std::uint64_t ends_permitted_ = 0;  // of streams that began: each has one frame without data
  Http2Flood flood_ = Http2Flood::kNone;
};

}  // namespace weir
