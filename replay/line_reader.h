// The lines of a log (log_bytes.h), read in large pieces.
//
//     absl::StatusOr<std::unique_ptr<LineReader>> reader = LineReader::Open(path);
//     while ((*reader)->Next()) Use((*reader)->line());
//     if (!(*reader)->status().ok()) ...
//
// A line ends at a newline, with or without a carriage return before it, or at the end of the file.
// Cost: a search for the newline. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "replay/log_bytes.h"

namespace weir {

class LineReader {
 public:
  // A longer line is cut to nothing, and is_too_long.
  static constexpr std::size_t kLineBytesMax = 1024 * 1024;

  // "-": the standard input. Fails with kUnavailable.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<LineReader>> Open(const std::string& path);

  // Reads a line. Returns false at the end, or if reading has failed: see status(), which is one of
  // LogBytes::Read. A file that is cut or damaged gives the whole lines before that place, and the
  // status names the line that has it.
  [[nodiscard]] bool Next();

  [[nodiscard]] std::string_view line() const noexcept { return line_; }  // good until Next
  [[nodiscard]] bool is_too_long() const noexcept { return is_too_long_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }  // of the line, from 1
  [[nodiscard]] const absl::Status& status() const noexcept { return status_; }

  // As of LogBytes.
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return bytes_->bytes_read(); }
  [[nodiscard]] std::uint64_t file_bytes() const noexcept { return bytes_->file_bytes(); }

 private:
  explicit LineReader(std::unique_ptr<LogBytes> bytes);
  // Reads more bytes behind those that are there. Returns false at the end.
  bool Fill();
  void SetLine(std::string_view line);

  const std::unique_ptr<LogBytes> bytes_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // of the bytes in buffer_ that are not returned yet
  std::size_t end_ = 0;
  std::string_view line_;
  bool is_too_long_ = false;
  std::uint64_t number_ = 0;
  absl::Status status_;
};

}  // namespace weir
