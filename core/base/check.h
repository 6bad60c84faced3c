// Assertions about our own state. Input from outside is never asserted on: it gets an error.
//
// WEIR_CHECK is always on; WEIR_DCHECK only where NDEBUG is not set (tests, fuzzers, sanitizers),
// for the hot path. A failed assertion prints its condition, file and line to standard error and
// aborts. Each one checks a single condition.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace weir::internal {

[[noreturn]] inline void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace weir::internal

#define WEIR_CHECK(condition)         \
  ((condition) ? static_cast<void>(0) \
               : ::weir::internal::CheckFailed(#condition, __FILE__, __LINE__))

#ifdef NDEBUG
#define WEIR_DCHECK(condition) static_cast<void>(sizeof(condition))
#else
#define WEIR_DCHECK(condition) WEIR_CHECK(condition)
#endif
