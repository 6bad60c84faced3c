// Whether the build has a sanitizer, which reports signals and refused allocations itself.
#pragma once

namespace weir {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kHasSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kHasSanitizer =
    __has_feature(address_sanitizer) != 0 || __has_feature(thread_sanitizer) != 0;
#else
inline constexpr bool kHasSanitizer = false;
#endif

}  // namespace weir
