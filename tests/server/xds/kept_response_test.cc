// Goal: the last response of a control plane is read again byte by byte, or not at all. Method:
// texts with each byte changed and each length, and files.
#include "server/xds/kept_response.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

constexpr std::string_view kMessage("a\nb\0c", 5);

TEST(KeptResponseTest, ATextGivesTheMessage) {
  for (const std::string_view message : {std::string_view(), kMessage}) {
    EXPECT_EQ(ReadKeptResponseText(KeptResponseText(message)), message);
  }
}

TEST(KeptResponseTest, DamageOfAnyByteIsFound) {
  const std::string text = KeptResponseText(kMessage);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(ReadKeptResponseText(damaged)) << i;
    EXPECT_FALSE(ReadKeptResponseText(std::string_view(text).substr(0, i))) << i;
  }
  EXPECT_FALSE(ReadKeptResponseText(text + "x"));
}

TEST(KeptResponseTest, AFileIsReplacedAsAWhole) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(ReadKeptResponse(directory.path())->has_value()) << "there is none";
  for (const std::string_view message : {kMessage, std::string_view("other")}) {
    ASSERT_TRUE(KeepResponse(directory.path(), message).ok());
    EXPECT_EQ(ReadKeptResponse(directory.path())->value(), message);
  }
}

TEST(KeptResponseTest, ADamagedFileAndAMissingDirectoryAreErrors) {
  const TemporaryDirectory directory;
  directory.Write(std::string(kKeptResponseFile), "weir rls-xds 1 9 crc32c 00000000\nabc");
  EXPECT_TRUE(absl::IsDataLoss(ReadKeptResponse(directory.path()).status()));
  EXPECT_TRUE(absl::IsUnavailable(KeepResponse(directory.path() + "/missing", "x")));
}

}  // namespace
}  // namespace weir
