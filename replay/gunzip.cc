#include "replay/gunzip.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include <zlib.h>

#include "core/base/check.h"

namespace weir {
namespace {

// zlib's largest window, and 16 for a header and a check of gzip's.
constexpr int kWindowBits = MAX_WBITS + 16;

uInt SizeForZlib(std::size_t size) {
  return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
}

}  // namespace

Gunzip::Gunzip() : stream_(std::make_unique<z_stream_s>()) {
  WEIR_CHECK(inflateInit2(stream_.get(), kWindowBits) == Z_OK);
}

Gunzip::~Gunzip() { inflateEnd(stream_.get()); }

absl::StatusOr<Gunzip::Moved> Gunzip::Unpack(std::string_view packed, std::span<char> room) {
  WEIR_CHECK(!room.empty());
  Moved moved;
  while (moved.given < room.size()) {
    const std::string_view rest = packed.substr(moved.taken);
    if (!is_inside_) {
      const std::size_t padding = std::min(rest.find_first_not_of('\0'), rest.size());
      moved.taken += padding;
      if (padding == rest.size()) return moved;
      if (padding > 0) continue;
      WEIR_CHECK(inflateReset(stream_.get()) == Z_OK);
      is_inside_ = true;
    }
    // zlib does not write to its input.
    stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest.data()));
    stream_->avail_in = SizeForZlib(rest.size());
    stream_->next_out = reinterpret_cast<Bytef*>(room.data() + moved.given);
    stream_->avail_out = SizeForZlib(room.size() - moved.given);
    const uInt in_before = stream_->avail_in;
    const uInt out_before = stream_->avail_out;
    const int code = inflate(stream_.get(), Z_NO_FLUSH);
    WEIR_CHECK(code != Z_MEM_ERROR);
    WEIR_CHECK(code != Z_STREAM_ERROR);
    const std::size_t taken = in_before - stream_->avail_in;
    const std::size_t given = out_before - stream_->avail_out;
    moved.taken += taken;
    moved.given += given;
    if (code == Z_DATA_ERROR || code == Z_NEED_DICT) {
      if (moved.given > 0) return moved;  // zlib fails again in the next call.
      return absl::DataLossError(absl::StrCat("damaged gzip data", stream_->msg ? ": " : "",
                                              stream_->msg ? stream_->msg : ""));
    }
    is_inside_ = code != Z_STREAM_END;
    if (is_inside_ && taken == 0 && given == 0) return moved;  // It needs more bytes.
  }
  return moved;
}

}  // namespace weir
