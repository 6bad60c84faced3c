// The bytes of the live page's files, from the source that cmake/embed.cmake makes.
#pragma once

#include <span>
#include <string_view>

namespace weir {

struct PageBytes {
  std::string_view path;  // of the URL
  std::string_view bytes;
  std::string_view gzip;  // the same, compressed
};

extern const std::span<const PageBytes> kPageFiles;

}  // namespace weir
