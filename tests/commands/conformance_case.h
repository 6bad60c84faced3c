// A case of docs/conformance.md: something that rate limiters get wrong, and what weir answers.
// Part of conformance_test.cc.
#pragma once

#include <string_view>

namespace weir {

struct ConformanceCase {
  std::string_view title;
  std::string_view elsewhere;   // what goes wrong
  std::string_view here;        // what is right
  std::string_view transcript;  // that shows it, on a server of its own (support/transcript.h)
  bool explicit_time = false;   // whether the server runs with --allow-explicit-time
};

}  // namespace weir
