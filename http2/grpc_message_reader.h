// The messages of a body of gRPC that has many, from bytes that come in pieces.
//
//     GrpcMessageReader reader(16 * 1024 * 1024);
//     reader.Append(bytes);
//     while (reader.Next(message) == GrpcBody::kMessage) ...
//
// It holds what is not read yet: one message, and what came with its end. Not thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "http2/grpc_message.h"

namespace weir {

class GrpcMessageReader {
 public:
  explicit GrpcMessageReader(std::size_t message_bytes_max)
      : message_bytes_max_(message_bytes_max) {}

  void Append(std::string_view bytes) { unread_ += bytes; }

  // Takes the next message. Returns kMessage, and `message` has it; or kIncomplete; or, by its
  // prefix, kCompressed or kTooLong, after which it reads no more.
  [[nodiscard]] GrpcBody Next(std::string& message);

 private:
  std::size_t message_bytes_max_;
  std::string unread_;
};

}  // namespace weir
