// Goal: every later version loads what format 1 has kept, exactly. Method: records of format 1 in
// literal bytes, which must never change.
#include <string>
#include <string_view>

#include "gtest/gtest.h"

#include "tests/persistence/storage_fixture.h"

namespace weir {
namespace {

using FormatOneTest = StorageTest;

TEST_F(FormatOneTest, LoadsLiteralRecords) {
  const auto bytes = [](std::string_view hex) {
    std::string text;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
      const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
      text.push_back(static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1])));
    }
    return text;
  };
  {
    const auto database = Database::Open({.directory = directory_.path()});
    ASSERT_TRUE(database.ok()) << database.status();
    const auto write = [&](Database::Writer& to) {
      // Of generation 2, key "user:42" under the secret below: 2 of "10/h" are used at
      // 2026-01-01 00:00:00 UTC, so it is full 12 minutes later.
      to.Put(bytes("420000000206941c0ecc9e601f6c1d0000000007"), bytes("188672f99152200000000000"));
      to.Put(bytes("4200000002ffff0000000000000000000000000a"), "no such partition");
      to.Put(bytes("4c00000007"), bytes("0000000000000000") + "10/h");
      to.Put(bytes("4c00000008"), bytes("0000000500000000") + "3/s");
      to.Put("Mclock", bytes("18867251edfa0000"));
      to.Put("Mformat", bytes("00000001"));
      to.Put("Mgeneration", bytes("00000002"));
      to.Put("Mnext-policy", bytes("00000009"));
      to.Put("Msecret", bytes("000102030405060708090a0b0c0d0e0f"));
      to.Put("Mstopped", bytes("00000001"));
      to.Put(bytes("4f00000005757365723a3432"), "20/s");
      to.Put(bytes("5000000005"), bytes("0004") + "free3/s 1000/h,fixed");
    };
    ASSERT_TRUE((*database)->Write(12, write).ok());
  }
  Start();
  EXPECT_FALSE(server_.found().unclean_restart);
  EXPECT_EQ(server_.found().clock_mark, FakeClock::kStart);
  EXPECT_EQ(server_.found().generation, 2U);
  EXPECT_EQ(server_.found().loaded, 1U);
  EXPECT_EQ(server_.found().bad, 1U);
  EXPECT_EQ(server_.Remaining("user:42", "10/h"), 8);
  const auto free = server_.policies().Find("free");
  ASSERT_TRUE(free);
  EXPECT_EQ(free->id, 5U);
  EXPECT_FALSE(free->from_file);
  ASSERT_EQ(free->limits.size(), 2U);
  EXPECT_EQ(PolicyLimitText(free->limits[1]), "1000/h,fixed");
  EXPECT_EQ(PolicyLimitText(free->overrides->Find("user:42")->front()), "20/s");
  server_.SetPolicy("next", "1/s");
  EXPECT_EQ(server_.policies().Find("next")->id, 9U);
}

}  // namespace
}  // namespace weir
