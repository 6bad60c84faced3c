// A name server that is silent: while an object lives, look-ups of name() wait. There is one object
// at a time. The test executable has waiting_names.cc, whose getaddrinfo takes the place of libc's.
#pragma once

#include <cstddef>
#include <string>

namespace weir {

class WaitingNames {
 public:
  WaitingNames();
  // Lets the look-ups fail, and waits for their ends.
  ~WaitingNames();
  WaitingNames(const WaitingNames&) = delete;
  WaitingNames& operator=(const WaitingNames&) = delete;

  [[nodiscard]] static std::string name() { return "waits.invalid"; }
  // Waits until that many look-ups wait.
  void AwaitLookUps(std::size_t count);
  // Lets the present and all later look-ups fail.
  void Release();
};

}  // namespace weir
