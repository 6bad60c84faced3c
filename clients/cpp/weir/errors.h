// Exceptions: Mistake, of any call, and Unavailable, of Limiter::Verify() and Command() alone.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace weir {

// The program, its configuration or its user is wrong: a bad limit, a bad URL, a wrong password.
// It is thrown also by a Limiter that fails open, since it does not pass with time. The text is
// weir's own where weir has refused; a password is never in it.
struct Mistake : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// weir gave no answer, or cannot limit now.
struct Unavailable : std::runtime_error {
  // `why` is a cause of Decision; `text` says more, if there is more to say.
  explicit Unavailable(std::string_view why, const std::string& text = "");

  std::string_view cause;  // valid forever
};

}  // namespace weir
