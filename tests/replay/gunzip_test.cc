// Goal: a gzip file comes out as the text that was packed, in whatever pieces its bytes and the
// room come, and no damaged or cut file passes for a whole one. Method: random texts, pieces and
// damages, packed by zlib.
#include "replay/gunzip.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/replay/gzip.h"

namespace weir {
namespace {

struct Unpacked {
  std::string text;
  bool may_end = false;
};

// Feeds `packed` in pieces of these sizes, in turn, into rooms of these sizes. Nothing if it fails.
std::optional<Unpacked> UnpackAll(std::string_view packed, std::span<const std::size_t> pieces,
                                  std::span<const std::size_t> rooms) {
  Gunzip gunzip;
  Unpacked unpacked;
  std::size_t turn = 0;
  while (true) {
    const std::string_view piece = packed.substr(0, pieces[turn % pieces.size()]);
    std::vector<char> room(rooms[turn % rooms.size()]);
    ++turn;
    const auto moved = gunzip.Unpack(piece, room);
    if (!moved.ok()) {
      EXPECT_EQ(moved.status().code(), absl::StatusCode::kDataLoss);
      return std::nullopt;
    }
    unpacked.text.append(room.data(), moved->given);
    packed.remove_prefix(moved->taken);
    if (packed.empty() && moved->given == 0) break;
  }
  unpacked.may_end = gunzip.may_end();
  return unpacked;
}

std::optional<Unpacked> UnpackAtOnce(std::string_view packed) {
  const std::size_t all[] = {std::max<std::size_t>(packed.size(), 1)};
  const std::size_t room[] = {1024};
  return UnpackAll(packed, all, room);
}

// A text that packs well or badly.
std::string AnyText() {
  std::string text = *rc::gen::arbitrary<std::string>();
  const auto times = *Between<std::int64_t>(0, 50);
  std::string repeated;
  for (std::int64_t i = 0; i < times; ++i) repeated += text;
  return repeated;
}

TEST(GunzipLawTest, AnyTextComesBackInAnyPieces) {
  CheckLaw(500, [] {
    std::string text;
    std::string packed;
    const auto members = *Between<std::int64_t>(1, 3);
    for (std::int64_t i = 0; i < members; ++i) {
      const std::string part = AnyText();
      text += part;
      packed += Gzip(part, static_cast<int>(*Between<std::int64_t>(0, 9)));
      if (*Between<std::int64_t>(0, 2) == 0) packed += std::string(3, '\0');
    }
    const auto sizes = [] {
      std::vector<std::size_t> some(static_cast<std::size_t>(*Between<std::int64_t>(1, 5)));
      for (std::size_t& one : some) one = static_cast<std::size_t>(*Between<std::int64_t>(1, 99));
      return some;
    };
    const std::optional<Unpacked> unpacked = UnpackAll(packed, sizes(), sizes());
    RC_ASSERT(unpacked.has_value());
    RC_ASSERT(unpacked->text == text);
    RC_ASSERT(unpacked->may_end);
  });
}

TEST(GunzipLawTest, ACutFileMayNotEndAndGivesABeginningOfTheText) {
  CheckLaw(500, [] {
    const std::string text = AnyText();
    const std::string packed = Gzip(text);
    const auto size = *Between<std::int64_t>(0, static_cast<std::int64_t>(packed.size()) - 1);
    const std::optional<Unpacked> unpacked =
        UnpackAtOnce(packed.substr(0, static_cast<std::size_t>(size)));
    RC_ASSERT(unpacked.has_value());
    RC_ASSERT(!unpacked->may_end);
    RC_ASSERT(text.starts_with(unpacked->text));
  });
}

// The ten bytes of a header have a time and a system, which no check covers.
TEST(GunzipLawTest, ADamagedBitIsFound) {
  CheckLaw(2'000, [] {
    constexpr std::int64_t kHeaderBytes = 10;
    const std::string text = AnyText();
    std::string packed = Gzip(text);
    const auto at =
        *Between<std::int64_t>(kHeaderBytes, static_cast<std::int64_t>(packed.size()) - 1);
    packed[static_cast<std::size_t>(at)] ^= static_cast<char>(1 << *Between<std::int64_t>(0, 7));
    const std::optional<Unpacked> unpacked = UnpackAtOnce(packed);
    if (unpacked && unpacked->may_end) RC_ASSERT(unpacked->text == text);
  });
}

TEST(GunzipTest, OtherBytesBehindAMemberAreAnError) {
  EXPECT_FALSE(UnpackAtOnce(Gzip("a\n") + "b\n").has_value());
  EXPECT_FALSE(UnpackAtOnce(Gzip("a\n") + std::string(1, '\0') + "b\n").has_value());
}

}  // namespace
}  // namespace weir
