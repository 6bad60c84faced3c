// The body of a call of gRPC: a byte that says whether the message is compressed, four bytes of its
// length, and the message.
//
//     switch (LookAtGrpcBody(body)) ...                  // each time that more of it has come
//     message.ParseFromString(GrpcMessageOf(body));      // kMessage
//     AppendGrpcMessage(answer, out);
//
// Pure, but for what is appended. Cost: none that grows with the message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

inline constexpr std::size_t kGrpcMessageBytesMax = 64 * 1024;

enum class GrpcBody : std::uint8_t {
  kIncomplete,  // a message that has not come completely, or nothing
  kMessage,     // one whole message
  kTooLong,     // the beginning of one of more than the bound
  kCompressed,  // the beginning of one that is compressed
  kTooMany,     // more than one
};

// Says what the bytes of a body are that have come so far.
[[nodiscard]] GrpcBody LookAtGrpcBody(
    std::string_view body, std::size_t message_bytes_max = kGrpcMessageBytesMax) noexcept;

// The bytes of the first message and its prefix. Requires: the prefix has come.
[[nodiscard]] std::size_t GrpcPrefixedBytes(std::string_view body) noexcept;

// Requires: LookAtGrpcBody(body) is kMessage.
[[nodiscard]] std::string_view GrpcMessageOf(std::string_view body) noexcept;

// Appends a message with its prefix. Requires: it has fewer than 2^32 bytes.
void AppendGrpcMessage(std::string_view message, std::string& out);

}  // namespace weir
