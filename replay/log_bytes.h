// The bytes of a log: those of a file or of the standard input, unpacked if they are gzip's.
//
// The first bytes tell whether they are compressed, and how. Memory: 64 KiB, and that of gunzip.h.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "replay/gunzip.h"

namespace weir {

class LogBytes {
 public:
  // "-": the standard input. Fails with kUnavailable.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<LogBytes>> Open(const std::string& path);
  ~LogBytes();
  LogBytes(const LogBytes&) = delete;
  LogBytes& operator=(const LogBytes&) = delete;

  // Reads into the front of `room`. Returns how many bytes, 0 at the end. Fails with kUnavailable
  // if the file cannot be read, with kFailedPrecondition and the program that unpacks it if it is
  // compressed otherwise, and with kDataLoss if it is cut or damaged, with a reason that names
  // neither the file nor a line. Requires: `room` is not empty, and no call has failed.
  [[nodiscard]] absl::StatusOr<std::size_t> Read(std::span<char> room);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // These count the bytes of the file before they are unpacked.
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return bytes_read_; }
  [[nodiscard]] std::uint64_t file_bytes() const noexcept { return file_bytes_; }  // 0: unknown

 private:
  LogBytes(std::string path, int descriptor, std::uint64_t file_bytes);
  absl::Status TellCompression();
  absl::StatusOr<std::size_t> ReadPacked(std::span<char> room);
  // As Read, of the bytes as they are stored.
  absl::StatusOr<std::size_t> ReadStored(std::span<char> room);
  // Those that are in ahead_ and not used up.
  [[nodiscard]] std::string_view Ahead() const { return {ahead_.data() + begin_, end_ - begin_}; }

  const std::string path_;
  const int descriptor_;
  const std::uint64_t file_bytes_;
  std::uint64_t bytes_read_ = 0;
  bool is_told_ = false;  // whether gunzip_ is needed
  std::optional<Gunzip> gunzip_;
  std::vector<char> ahead_;  // stored bytes that were read before they could be used
  std::size_t begin_ = 0;    // of those in ahead_
  std::size_t end_ = 0;
};

}  // namespace weir
