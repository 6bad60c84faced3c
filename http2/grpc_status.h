// The statuses of gRPC that weir answers, and the form of the text that explains one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

enum class GrpcStatus : std::uint8_t {
  kOk = 0,
  kInvalidArgument = 3,
  kNotFound = 5,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kUnauthenticated = 16,
};

// How a call has failed.
struct GrpcError {
  GrpcStatus status;
  std::string text;
};

// The text as the field grpc-message has it: bytes that are not printable ASCII, and "%", are %XX.
// Pure.
[[nodiscard]] std::string GrpcMessageField(std::string_view text);

}  // namespace weir
