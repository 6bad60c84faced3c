// Goal: records are read as they were written, in bodies of any size, and bytes that no writer
// writes are refused. Method: random changes, limits and sizes; bodies cut, extended and changed.
#include "replication/records.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "core/base/id_type.h"
#include "core/base/record_bytes.h"
#include "core/table/hold_bytes.h"
#include "core/words/limit_bytes.h"
#include "replication/varint.h"
#include "tests/random/generators.h"
#include "tests/random/kept_limits.h"
#include "tests/random/property.h"
#include "tests/replication/frames.h"
#include "tests/support/printing.h"

namespace weir {
namespace {

template <typename Number>
Number AnyOf() {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<Number>());
}

// A registry without locks.
struct Limits {
  std::map<LimitId, Limit> by_id;
  std::vector<LimitId> ids;

  // Gives an id to a limit, unless it shares its buckets with another.
  void Add(LimitId id, const Limit& limit) {
    for (const auto& [other, known] : by_id) {
      if (other == id || known.SharesBucketsWith(limit)) return;
    }
    by_id.emplace(id, limit);
    ids.push_back(id);
  }
  const Limit* operator()(LimitId id) const {
    const auto found = by_id.find(id);
    return found == by_id.end() ? nullptr : &found->second;
  }
};

Limits AnyLimits() {
  Limits limits;
  limits.Add(LimitId{0}, LimitOf("3/s"));
  limits.Add(LimitId{9}, LimitOf("5,held"));
  for (int more = *Between(0, 6); more > 0; --more) {
    const Limit limit = *AnyKeptLimit();
    limits.Add(LimitId{*Between<std::uint32_t>(0, 3'000)},
               AnyOf<bool>() ? limit : limit.OwnedBy({PolicyId{7}, *Between(0U, 63U)}));
  }
  return limits;
}

LimitId AnyId(const Limits& limits) { return *rc::gen::elementOf(limits.ids); }

BucketChange AnyBucketChange(const Limits& limits, std::uint16_t partition) {
  const LimitId limit = AnyId(limits);
  const bool erased = AnyOf<bool>();
  return {.key = {AnyOf<std::uint64_t>(), limit},
          .partition = partition,
          .algorithm = limits(limit)->shape().algorithm,
          .went_back = AnyOf<bool>(),
          .erased = erased,
          .bucket = erased ? Bucket{} : *AnyFormOf(*limits(limit))};
}

HoldChange AnyHoldChange(const Limits& limits, std::uint16_t partition) {
  HoldChange change = {partition, AnyOf<std::uint64_t>(),
                       std::string(*Between<std::size_t>(1, kHoldIdBytesMax), 'i'), std::nullopt};
  if (AnyOf<bool>()) return change;
  change.hold.emplace();
  change.hold->settled = AnyOf<bool>();
  change.hold->expiry = *AnyInstant();
  for (int parts = *Between(0, 4); parts > 0; --parts) {
    change.hold->parts.push_back({.cost = AnyOf<std::uint64_t>(), .limit = AnyId(limits)});
  }
  return change;
}

SumsChange AnySumsChange(const Limits& limits, std::uint16_t partition) {
  SumsChange change = {partition, {AnyOf<std::uint64_t>(), AnyId(limits)}, std::nullopt};
  if (AnyOf<bool>()) change.sums = {AnyOf<std::uint64_t>(), AnyOf<std::uint64_t>()};
  return change;
}

void AddAny(const Limits& limits, std::uint16_t partition, LimiterChanges& changes) {
  for (int n = *Between(0, 5); n > 0; --n) {
    changes.buckets.push_back(AnyBucketChange(limits, partition));
  }
  for (int n = *Between(0, 2); n > 0; --n) {
    changes.holds.push_back(AnyHoldChange(limits, partition));
  }
  for (int n = *Between(0, 2); n > 0; --n) {
    changes.sums.push_back(AnySumsChange(limits, partition));
  }
}

// Changes as bytes, with limits instead of ids, so that they can be compared.
template <typename LimitOfId>
std::vector<std::string> TextsOf(const LimiterChanges& changes, LimitOfId limit_of) {
  std::vector<std::string> texts;
  const auto begin = [&texts](char kind, std::uint16_t partition, std::uint64_t key) {
    std::string& text = texts.emplace_back(1, kind);
    AppendNumber(partition, text);
    AppendNumber(key, text);
  };
  for (const BucketChange& change : changes.buckets) {
    begin('B', change.partition, change.key.key_hash());
    texts.back() += LimitValue(*limit_of(change.key.limit));
    texts.back() += {static_cast<char>(change.algorithm), static_cast<char>(change.went_back),
                     static_cast<char>(change.erased)};
    AppendBucketValue(change.bucket, texts.back());
  }
  for (const HoldChange& change : changes.holds) {
    begin('H', change.partition, change.key);
    texts.back() += change.id;
    if (!change.hold) continue;
    SavedHold hold = *change.hold;
    for (HoldPart& part : hold.parts) {
      texts.back() += LimitValue(*limit_of(part.limit));
      part.limit = LimitId{};
    }
    AppendHoldValue(hold, texts.back());
  }
  for (const SumsChange& change : changes.sums) {
    begin('S', change.partition, change.bucket.key_hash());
    texts.back() += LimitValue(*limit_of(change.bucket.limit));
    if (change.sums) AppendSumsValue(*change.sums, texts.back());
  }
  std::ranges::sort(texts);
  return texts;
}

std::vector<std::string> TextsIn(const LimiterChanges& read) {
  return TextsOf(read, [&](LimitId id) { return &*read.limits.at(NumberOf(id)).limit; });
}

void Join(std::vector<std::string> more, std::vector<std::string>& texts) {
  std::ranges::move(more, std::back_inserter(texts));
  std::ranges::sort(texts);
}

TEST(RecordsTest, ChangesRoundTrip) {
  RecordsWriter writer;
  CheckLaw(500, [&] {
    const Limits limits = AnyLimits();
    LimiterChanges changes;
    LimiterChanges written;  // without the rewritten partitions
    for (int partition = 0; partition < 4095; partition += *Between(1, 1'500)) {
      const auto index = static_cast<std::uint16_t>(partition);
      LimiterChanges own;
      AddAny(limits, index, own);
      const bool is_rewritten = *Between(0, 4) == 0;
      if (is_rewritten) changes.rewritten_partitions.push_back(index);
      const auto add = [](auto& to, const auto& from) {
        to.insert(to.end(), from.begin(), from.end());
      };
      for (LimiterChanges* const to : {&changes, is_rewritten ? nullptr : &written}) {
        if (!to) continue;
        add(to->buckets, own.buckets);
        add(to->holds, own.holds);
        add(to->sums, own.sums);
      }
    }
    std::vector<std::string> texts;
    bool ended = false;
    writer.WriteChanges(changes, limits, *Between<std::size_t>(1, 600),
                        [&](const RecordsWriter::Body& body) {
                          RC_ASSERT(!ended);
                          ended = body.is_last;
                          const auto read = ReadRecords(body.bytes, RecordsKind::kChanges);
                          RC_ASSERT(read.has_value());
                          RC_ASSERT(!ReadRecords(body.bytes, RecordsKind::kPartition));
                          for (const BucketChange& change : read->buckets) {
                            RC_ASSERT(body.partitions.Contains(change.partition));
                          }
                          Join(TextsIn(*read), texts);
                        });
    RC_ASSERT(texts == TextsOf(written, limits));
    RC_ASSERT(ended == (written.size() > 0));
  });
}

TEST(RecordsTest, CopiesRoundTrip) {
  RecordsWriter writer;
  CheckLaw(500, [&] {
    const Limits limits = AnyLimits();
    LimiterChanges copy;
    AddAny(limits, 77, copy);
    std::vector<std::string> texts;
    int last = 0;
    writer.WritePartition(copy, 77, limits, *Between<std::size_t>(1, 400),
                          [&](const RecordsWriter::Body& body) {
                            const auto read = ReadRecords(body.bytes, RecordsKind::kPartition);
                            RC_ASSERT(read.has_value());
                            RC_ASSERT(!ReadRecords(body.bytes, RecordsKind::kChanges));
                            RC_ASSERT(read->rewritten_partitions == std::vector<std::uint16_t>{77});
                            RC_ASSERT(body.partitions == Only(77));
                            RC_ASSERT(last == 0);
                            last += body.is_last ? 1 : 0;
                            Join(TextsIn(*read), texts);
                          });
    RC_ASSERT(last == 1);
    RC_ASSERT(texts == TextsOf(copy, limits));
  });
}

std::string OneBody(const LimiterChanges& changes, const Limits& limits) {
  std::string bytes;
  RecordsWriter().WriteChanges(changes, limits, kChangesBytes,
                               [&](const RecordsWriter::Body& body) { bytes = body.bytes; });
  return bytes;
}

TEST(RecordsTest, LeavesOutErasuresOfUnknownLimits) {
  Limits limits;
  limits.Add(LimitId{1}, LimitOf("3/s"));
  LimiterChanges changes;
  changes.buckets.push_back({.key = {1, LimitId{2}},
                             .partition = 5,
                             .algorithm = Algorithm::kTokenBucket,
                             .went_back = true,
                             .erased = true,
                             .bucket = {}});
  changes.sums.push_back({5, {1, LimitId{2}}, std::nullopt});
  changes.sums.push_back({5, {1, LimitId{1}}, std::nullopt});
  const auto read = ReadRecords(OneBody(changes, limits), RecordsKind::kChanges);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->buckets.size(), 0U);
  EXPECT_EQ(read->sums.size(), 1U);
}

TEST(RecordsTest, BodiesOfOrdinaryChangesAreSmall) {
  Limits limits;
  limits.Add(LimitId{1}, LimitOf("10/s"));
  LimiterChanges changes;
  for (std::uint16_t partition = 0; partition < 1'000; ++partition) {
    changes.buckets.push_back({.key = {partition, LimitId{1}},
                               .partition = partition,
                               .algorithm = Algorithm::kTokenBucket,
                               .went_back = false,
                               .erased = false,
                               .bucket = {.low = 1, .high = 1, .extra = 0}});
  }
  // A section for each, of 6 bytes, and 19 for the bucket.
  EXPECT_LT(OneBody(changes, limits).size(), 25'050U);
}

TEST(RecordsTest, BodiesAreReadOnlyWhole) {
  CheckLaw(100, [] {
    const Limits limits = AnyLimits();
    LimiterChanges changes;
    AddAny(limits, 4095, changes);
    changes.buckets.push_back(AnyBucketChange(limits, 4095));
    const std::string body = OneBody(changes, limits);
    RC_ASSERT(ReadRecords(body, RecordsKind::kChanges).has_value());
    // A body may end after its limits.
    for (std::size_t length = 0; length < body.size(); ++length) {
      const auto read =
          ReadRecords(std::string_view(body).substr(0, length), RecordsKind::kChanges);
      const bool is_empty = !read || read->size() == 0;
      RC_ASSERT(is_empty);
    }
    RC_ASSERT(!ReadRecords(body + '\0', RecordsKind::kChanges));
  });
}

// A body of these limits and one section with one bucket of `limit`.
std::string BodyWith(const std::vector<std::string>& words, std::uint16_t partition,
                     std::uint8_t tag, std::uint32_t limit, std::uint32_t high = 0) {
  std::string body;
  AppendVarint(static_cast<std::uint32_t>(words.size()), body);
  for (const std::string& word : words) {
    const std::string value = LimitValue(LimitOf(word));
    AppendVarint(static_cast<std::uint32_t>(value.size()), body);
    body += value;
  }
  AppendNumber(partition, body);
  AppendNumber(std::uint8_t{0}, body);
  AppendVarint(1, body);
  AppendNumber(tag, body);
  AppendNumber(std::uint64_t{7}, body);
  AppendVarint(limit, body);
  AppendNumber(high, body);
  AppendNumber(std::uint32_t{0}, body);
  AppendVarint(0, body);
  AppendVarint(0, body);
  AppendVarint(0, body);
  return body;
}

TEST(RecordsTest, RefusesWhatNoWriterWrites) {
  const auto is_read = [](const std::string& body) {
    return ReadRecords(body, RecordsKind::kChanges).has_value();
  };
  EXPECT_TRUE(is_read(BodyWith({"3/s", "4/s"}, 4095, 0, 1)));
  EXPECT_FALSE(is_read(BodyWith({"3/s", "4/s"}, 4096, 0, 1))) << "an invalid partition";
  EXPECT_FALSE(is_read(BodyWith({"3/s", "4/s"}, 4095, 0, 2))) << "an invalid index";
  EXPECT_TRUE(is_read(BodyWith({"3/s", "3/s"}, 4095, 0, 1))) << "of an old id and a new one";
  EXPECT_FALSE(is_read(BodyWith({"3/s", "4/s"}, 4095, 1, 1))) << "another algorithm";
  EXPECT_TRUE(is_read(BodyWith({"3/s,fixed"}, 4095, 1, 0)));
  EXPECT_FALSE(is_read(BodyWith({"3/s"}, 4095, 16, 0))) << "an unknown bit";
  EXPECT_FALSE(is_read(BodyWith({"3/s"}, 4095, 0, 0, kBucketSpareBit))) << "the spare bit";
  EXPECT_FALSE(is_read(BodyWith({"3/s,fixed"}, 4095, 1, 0, kBucketSpareBit))) << "too few tokens";
  EXPECT_FALSE(is_read("")) << "no limits";
  EXPECT_TRUE(is_read(std::string(1, '\0')));
  // A count that has no room.
  EXPECT_FALSE(is_read("\xFF\xFF\xFF\xFF\x0F"));
}

TEST(VarintTest, EachNumberHasOneSpelling) {
  for (const std::uint32_t number : {0U, 1U, 127U, 128U, 16'383U, 16'384U, UINT32_MAX}) {
    std::string bytes;
    AppendVarint(number, bytes);
    RecordReader reader(bytes);
    EXPECT_EQ(TakeVarint(reader), number);
    EXPECT_TRUE(reader.Complete());
  }
  using namespace std::string_view_literals;
  for (const std::string_view bytes :
       {""sv, "\x80"sv, "\x80\0"sv, "\xFF\xFF\xFF\xFF\x1F"sv, "\x80\x80\x80\x80\x80\x01"sv}) {
    RecordReader reader(bytes);
    EXPECT_EQ(TakeVarint(reader), 0U);
    EXPECT_TRUE(reader.failed());
  }
}

}  // namespace
}  // namespace weir
