#include "http2/grpc_message_reader.h"

namespace weir {

GrpcBody GrpcMessageReader::Next(std::string& message) {
  const GrpcBody found = LookAtGrpcBody(unread_, message_bytes_max_);
  if (found != GrpcBody::kMessage && found != GrpcBody::kTooMany) return found;
  const std::size_t whole = GrpcPrefixedBytes(unread_);
  message = GrpcMessageOf(std::string_view(unread_).substr(0, whole));
  // What is left is less than came in one piece; the memory of a long message goes.
  unread_ = std::string(unread_.substr(whole));
  return GrpcBody::kMessage;
}

}  // namespace weir
