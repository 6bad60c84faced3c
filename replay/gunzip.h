// The bytes of a gzip file, unpacked in pieces.
//
//     Gunzip gunzip;
//     const absl::StatusOr<Gunzip::Moved> moved = gunzip.Unpack(packed, room);
//
// A file has one member or several, as of files that were packed apart and joined; zeros after a
// member are padding. Memory: 40 KiB, whatever the file unpacks to. Cost: about 5 ns a byte. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"

struct z_stream_s;  // NOLINT(readability-identifier-naming): of zlib

namespace weir {

class Gunzip {
 public:
  // The first bytes of each member.
  static constexpr std::string_view kBegin = "\x1F\x8B";

  Gunzip();
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  struct Moved {
    std::size_t taken = 0;  // bytes of `packed` that are used up
    std::size_t given = 0;  // bytes that were written to the front of `room`
  };

  // Unpacks until `packed` is used up or `room` is full. Bytes that had no room are kept: the next
  // call gives them first, also without further bytes. Fails with kDataLoss if `packed` does not
  // continue a gzip file, when all bytes before that place are given. Requires: `room` is not
  // empty, and no call has failed.
  [[nodiscard]] absl::StatusOr<Moved> Unpack(std::string_view packed, std::span<char> room);

  // False within a member: a file that ends here is cut.
  [[nodiscard]] bool may_end() const noexcept { return !is_inside_; }

 private:
  const std::unique_ptr<z_stream_s> stream_;
  bool is_inside_ = true;  // of a member; at first, of the one that must come
};

}  // namespace weir
