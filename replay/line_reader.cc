#include "replay/line_reader.h"

#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/byte_order_mark.h"
#include "core/base/check.h"
#include "core/base/quote.h"

namespace weir {

absl::StatusOr<std::unique_ptr<LineReader>> LineReader::Open(const std::string& path) {
  absl::StatusOr<std::unique_ptr<LogBytes>> bytes = LogBytes::Open(path);
  if (!bytes.ok()) return bytes.status();
  return std::unique_ptr<LineReader>(new LineReader(*std::move(bytes)));
}

LineReader::LineReader(std::unique_ptr<LogBytes> bytes)
    : bytes_(std::move(bytes)), buffer_(2 * kLineBytesMax) {}

bool LineReader::Next() {
  std::size_t searched = 0;  // bytes from begin_ on without a newline
  is_too_long_ = false;
  for (;;) {
    const char* const begin = buffer_.data() + begin_;
    const std::size_t size = end_ - begin_;
    const void* const newline = std::memchr(begin + searched, '\n', size - searched);
    if (newline) {
      const auto bytes = static_cast<std::size_t>(static_cast<const char*>(newline) - begin);
      begin_ += bytes + 1;
      SetLine({begin, bytes});
      return true;
    }
    searched = size;
    if (size > kLineBytesMax) {
      is_too_long_ = true;
      begin_ = end_;
      searched = 0;
    }
    if (Fill()) continue;
    if (!status_.ok() || (begin_ == end_ && !is_too_long_)) return false;
    const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
    begin_ = end_;
    SetLine(rest);
    return true;
  }
}

void LineReader::SetLine(std::string_view line) {
  ++number_;
  if (number_ == 1) line = WithoutByteOrderMark(line);
  if (line.size() > kLineBytesMax) is_too_long_ = true;
  if (is_too_long_) line = {};
  if (line.ends_with('\r')) line.remove_suffix(1);
  line_ = line;
}

bool LineReader::Fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  WEIR_CHECK(end_ < buffer_.size());
  const absl::StatusOr<std::size_t> got = bytes_->Read(std::span(buffer_).subspan(end_));
  if (!got.ok()) {
    status_ = got.status();
    if (absl::IsDataLoss(status_)) {
      status_ = absl::DataLossError(
          absl::StrCat(Quote(bytes_->path()), " line ", number_ + 1, ": ", status_.message()));
    }
    return false;
  }
  end_ += *got;
  return *got > 0;
}

}  // namespace weir
