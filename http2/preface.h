// The first bytes of a client of HTTP/2, which no request of HTTP/1.1 begins with.
#pragma once

#include <string_view>

namespace weir {

inline constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

}  // namespace weir
