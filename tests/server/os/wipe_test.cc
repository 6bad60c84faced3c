// Goal: a secret leaves no bytes behind. Method: the memory of its object, after its end.
#include "server/os/wipe.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace weir {
namespace {

// Short enough to lie in the object.
constexpr std::string_view kPassword = "open sesame";

class SecretTest : public testing::Test {
 protected:
  [[nodiscard]] bool HasPassword() const {
    const auto* const end = bytes_.data() + bytes_.size();
    return std::search(bytes_.data(), end, kPassword.begin(), kPassword.end()) != end;
  }
  Secret* Make(const Secret& from) { return new (bytes_.data()) Secret(from); }

  alignas(Secret) std::array<char, sizeof(Secret)> bytes_{};
};

TEST_F(SecretTest, IsWipedAtItsEnd) {
  Secret* const secret = Make(kPassword);
  EXPECT_EQ(secret->text(), kPassword);
  EXPECT_TRUE(HasPassword());
  std::destroy_at(secret);
  EXPECT_FALSE(HasPassword());
}

TEST_F(SecretTest, IsWipedBeforeItsNextValue) {
  Secret* const secret = Make(kPassword);
  *secret = {};
  EXPECT_FALSE(HasPassword());
  EXPECT_TRUE(secret->empty());
  *secret = std::string(100, 'x');
  *secret = kPassword;
  EXPECT_EQ(*secret, kPassword);
  std::destroy_at(secret);
}

TEST_F(SecretTest, AMovedOneKeepsItsBytesAndWipesThem) {
  Secret* const secret = Make(kPassword);
  const Secret other = std::move(*secret);
  EXPECT_EQ(other, *secret);
  std::destroy_at(secret);
  EXPECT_FALSE(HasPassword());
}

}  // namespace
}  // namespace weir
