// A case of docs/conformance.md: a mistake of rate limiters, and what weir answers instead. Part of
// conformance_test.cc.
#pragma once

#include <string_view>

namespace weir {

struct ConformanceCase {
  std::string_view title;
  std::string_view elsewhere;   // the mistake of other limiters
  std::string_view here;        // the right answer
  std::string_view transcript;  // shows it, on a new server (support/transcript.h)
  bool explicit_time = false;   // whether the server runs with --allow-explicit-time
};

}  // namespace weir
