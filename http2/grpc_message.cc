#include "http2/grpc_message.h"

#include "core/base/check.h"

namespace weir {
namespace {

constexpr std::size_t kPrefixBytes = 5;

}  // namespace

std::size_t GrpcPrefixedBytes(std::string_view body) noexcept {
  std::size_t length = 0;
  for (const char byte : body.substr(1, 4)) length = length << 8 | static_cast<std::uint8_t>(byte);
  return kPrefixBytes + length;
}

GrpcBody LookAtGrpcBody(std::string_view body, std::size_t message_bytes_max) noexcept {
  if (!body.empty() && body[0] != 0) return GrpcBody::kCompressed;
  if (body.size() < kPrefixBytes) return GrpcBody::kIncomplete;
  const std::size_t whole = GrpcPrefixedBytes(body);
  if (whole - kPrefixBytes > message_bytes_max) return GrpcBody::kTooLong;
  if (body.size() < whole) return GrpcBody::kIncomplete;
  return body.size() == whole ? GrpcBody::kMessage : GrpcBody::kTooMany;
}

std::string_view GrpcMessageOf(std::string_view body) noexcept { return body.substr(kPrefixBytes); }

void AppendGrpcMessage(std::string_view message, std::string& out) {
  WEIR_CHECK(message.size() >> 32 == 0);
  out += '\0';
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(message.size() >> shift & 0xff);
  out.append(message);
}

}  // namespace weir
