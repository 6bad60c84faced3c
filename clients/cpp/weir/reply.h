// Reply: what weir answers to any command, as Limiter::Command() returns it.
//
//     integer  1                       array  one Reply after the other
//     text     any bytes, also "OK"    nil    nothing
//     error    in an array only: the error of a whole reply is thrown
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir {

struct Reply {
  enum class Kind { kNil, kInteger, kText, kError, kArray };

  Kind kind = Kind::kNil;
  std::int64_t integer = 0;    // of kInteger
  std::string text{};          // of kText and kError
  std::vector<Reply> array{};  // of kArray
};

}  // namespace weir
