// The gzip file of a text, as zlib packs it.
#pragma once

#include <string>
#include <string_view>

#include <zlib.h>

#include "core/base/check.h"

namespace weir {

// `level`: of zlib, from 0 (stored) to 9.
inline std::string Gzip(std::string_view text, int level = Z_DEFAULT_COMPRESSION) {
  constexpr int kWindowBits = MAX_WBITS + 16;  // a header and a check of gzip's
  z_stream stream = {};
  WEIR_CHECK(deflateInit2(&stream, level, Z_DEFLATED, kWindowBits, MAX_MEM_LEVEL,
                          Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(2 * text.size() + 1024, '\0');  // more than any level needs
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  WEIR_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace weir
