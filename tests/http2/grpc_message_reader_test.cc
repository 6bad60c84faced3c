#include "http2/grpc_message_reader.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::ElementsAre;

std::string Framed(std::initializer_list<std::string_view> messages) {
  std::string body;
  for (const std::string_view message : messages) AppendGrpcMessage(message, body);
  return body;
}

TEST(GrpcMessageReader, FindsTheMessagesInPiecesOfAnyLength) {
  const std::string body = Framed({"one", "", "three", std::string(300, 'x')});
  for (std::size_t piece = 1; piece <= body.size(); ++piece) {
    GrpcMessageReader reader(300);
    std::vector<std::string> messages;
    std::string message;
    for (std::size_t begin = 0; begin < body.size(); begin += piece) {
      reader.Append(std::string_view(body).substr(begin, piece));
      while (reader.Next(message) == GrpcBody::kMessage) messages.push_back(message);
    }
    EXPECT_THAT(messages, ElementsAre("one", "", "three", std::string(300, 'x'))) << piece;
    EXPECT_EQ(reader.Next(message), GrpcBody::kIncomplete);
  }
}

TEST(GrpcMessageReader, RefusesAMessageByItsPrefix) {
  std::string message;
  GrpcMessageReader reader(2);
  reader.Append(Framed({"ab"}));
  reader.Append(Framed({"abc"}).substr(0, 5));
  EXPECT_EQ(reader.Next(message), GrpcBody::kMessage);
  EXPECT_EQ(reader.Next(message), GrpcBody::kTooLong);
  reader.Append("abc");
  EXPECT_EQ(reader.Next(message), GrpcBody::kTooLong);
  GrpcMessageReader other(2);
  other.Append("\1");
  EXPECT_EQ(other.Next(message), GrpcBody::kCompressed);
}

}  // namespace
}  // namespace weir
