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

// A case of the page's section about holds, where the answers of two other projects are given.
struct HoldCase {
  std::string_view title;
  std::string_view event;  // the case in one sentence
  std::string_view here;
  std::string_view limitador;
  std::string_view litellm;
  std::string_view transcript;
  bool explicit_time = false;
};

}  // namespace weir
