// The parts of nghttp2 that both ends of a connection need: options, and fields in its form.
// Included by http2_session.cc and http2_call.cc alone.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <nghttp2/nghttp2.h>

#include "core/base/check.h"
#include "http2/http2_field.h"

namespace weir {

template <typename T, void (*kDelete)(T*)>
struct NgHttp2Deleter {
  void operator()(T* object) const noexcept { kDelete(object); }
};
using NgHttp2Options =
    std::unique_ptr<nghttp2_option, NgHttp2Deleter<nghttp2_option, nghttp2_option_del>>;
using NgHttp2Callbacks =
    std::unique_ptr<nghttp2_session_callbacks,
                    NgHttp2Deleter<nghttp2_session_callbacks, nghttp2_session_callbacks_del>>;

// Of nghttp2's functions that can fail for a lack of memory alone.
inline void RequireMemory(int result) { WEIR_CHECK(result == 0); }

// With nghttp2's own bounds, spelled out.
inline NgHttp2Options MakeNgHttp2Options() {
  nghttp2_option* made = nullptr;
  RequireMemory(nghttp2_option_new(&made));
  NgHttp2Options options(made);
  nghttp2_option_set_no_closed_streams(made, 1);
  nghttp2_option_set_max_settings(made, 32);
  nghttp2_option_set_max_outbound_ack(made, 1000);
  return options;
}

// Views of the fields, for functions that copy them.
inline std::vector<nghttp2_nv> ForNgHttp2(std::span<const Http2Field> fields) {
  std::vector<nghttp2_nv> result;
  result.reserve(fields.size());
  // nghttp2 copies the bytes, and changes none.
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  for (const auto& [name, value] : fields) {
    result.push_back({bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  return result;
}

inline std::string_view TextOfNgHttp2(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace weir
