// The bytes of a request, as a client sends it: an array of bulk strings.
#pragma once

#include <string>
#include <vector>

#include "protocol/resp_writer.h"

namespace weir {

[[nodiscard]] inline std::string Multibulk(const std::vector<std::string>& words) {
  std::string bytes;
  RespWriter writer(bytes);
  writer.Array(words.size());
  for (const std::string& word : words) writer.Bulk(word);
  return bytes;
}

}  // namespace weir
