#include "http2/grpc_status.h"

namespace weir {

std::string GrpcMessageField(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string field;
  for (const char byte : text) {
    if (byte >= ' ' && byte <= '~' && byte != '%') {
      field += byte;
      continue;
    }
    const auto number = static_cast<std::uint8_t>(byte);
    field += '%';
    field += kDigits[number >> 4];
    field += kDigits[number & 15];
  }
  return field;
}

}  // namespace weir
