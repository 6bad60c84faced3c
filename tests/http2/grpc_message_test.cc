#include "http2/grpc_message.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "http2/grpc_status.h"

namespace weir {
namespace {

std::string Framed(std::string_view message) {
  std::string body;
  AppendGrpcMessage(message, body);
  return body;
}

TEST(GrpcMessage, IsFoundBehindItsPrefix) {
  const std::string body = Framed("abc");
  EXPECT_EQ(body, std::string_view("\0\0\0\0\3abc", 8));
  EXPECT_EQ(LookAtGrpcBody(body), GrpcBody::kMessage);
  EXPECT_EQ(GrpcMessageOf(body), "abc");
  EXPECT_EQ(LookAtGrpcBody(Framed("")), GrpcBody::kMessage);
  EXPECT_EQ(GrpcMessageOf(Framed("")), "");
}

TEST(GrpcMessage, IsIncompleteUntilItsLastByte) {
  const std::string body = Framed(std::string(300, 'x'));
  for (std::size_t size = 0; size < body.size(); ++size) {
    EXPECT_EQ(LookAtGrpcBody(std::string_view(body).substr(0, size)), GrpcBody::kIncomplete);
  }
}

TEST(GrpcMessage, IsTooLongByItsPrefixAlone) {
  EXPECT_EQ(LookAtGrpcBody(Framed(std::string(kGrpcMessageBytesMax, 'x'))), GrpcBody::kMessage);
  EXPECT_EQ(LookAtGrpcBody(std::string_view("\0\0\1\0\0", 5)), GrpcBody::kIncomplete);
  EXPECT_EQ(LookAtGrpcBody(std::string_view("\0\0\1\0\1", 5)), GrpcBody::kTooLong);
  EXPECT_EQ(LookAtGrpcBody(std::string_view("\0\xff\xff\xff\xff", 5)), GrpcBody::kTooLong);
}

TEST(GrpcMessage, MustBeAloneAndUncompressed) {
  EXPECT_EQ(LookAtGrpcBody(Framed("abc") + Framed("")), GrpcBody::kTooMany);
  EXPECT_EQ(LookAtGrpcBody(Framed("abc") + "x"), GrpcBody::kTooMany);
  EXPECT_EQ(LookAtGrpcBody("\1"), GrpcBody::kCompressed);
}

TEST(GrpcMessageField, EscapesWhatIsNotPrintable) {
  EXPECT_EQ(GrpcMessageField("ERR no such user 'a b'"), "ERR no such user 'a b'");
  EXPECT_EQ(GrpcMessageField("100%\r\n\x7f\xc3\xa4"), "100%25%0D%0A%7F%C3%A4");
}

}  // namespace
}  // namespace weir
