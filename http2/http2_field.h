// A field of a request or an answer of HTTP/2: viewed, not owned.
#pragma once

#include <string_view>

namespace weir {

struct Http2Field {
  std::string_view name;  // in lower case
  std::string_view value;
};

}  // namespace weir
