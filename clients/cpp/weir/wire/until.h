// Until: when waiting for the network ends, and the failure of what did not succeed by then.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace weir::client {

struct Until {
  std::chrono::steady_clock::time_point end;
  int cancelled = -1;  // a descriptor that becomes readable when waiting is of no use; -1: none
};

struct Failure {
  std::string_view cause;  // that of a Decision
  std::string text;
};

}  // namespace weir::client
