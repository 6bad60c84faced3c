#include "persistence/hold_format.h"

#include "core/base/check.h"
#include "core/base/id_type.h"
#include "core/base/record_bytes.h"

namespace weir {
namespace {

void AppendPlace(char kind, TableGeneration generation, std::uint16_t partition, std::uint64_t hash,
                 std::string& out) {
  WEIR_CHECK(partition < kPartitionCount);
  out.push_back(kind);
  AppendNumber(NumberOf(generation), out);
  AppendNumber(partition, out);
  AppendNumber(hash, out);
}

// Takes what AppendPlace has appended. Returns false if there is no such partition.
template <typename Key>
bool TakePlace(RecordReader& reader, char kind, Key& key) {
  reader.Expect(kind);
  key.generation = TableGeneration{reader.Take<std::uint32_t>()};
  key.partition = reader.Take<std::uint16_t>();
  key.hash = reader.Take<std::uint64_t>();
  return key.partition < kPartitionCount;
}

bool IsId(std::string_view id) { return !id.empty() && id.size() <= kHoldIdBytesMax; }

}  // namespace

void AppendHoldKey(const HoldKey& key, std::string& out) {
  WEIR_CHECK(IsId(key.id));
  AppendPlace(kHoldPrefix, key.generation, key.partition, key.hash, out);
  out += key.id;
}

std::optional<HoldKey> ReadHoldKey(std::string_view bytes) {
  RecordReader reader(bytes);
  HoldKey key;
  if (!TakePlace(reader, kHoldPrefix, key)) return std::nullopt;
  key.id = reader.TakeRest();
  if (!reader.Complete() || !IsId(key.id)) return std::nullopt;
  return key;
}

void AppendSumsKey(const SumsKey& key, std::string& out) {
  AppendPlace(kSumsPrefix, key.generation, key.partition, key.hash, out);
  AppendNumber(NumberOf(key.limit), out);
}

std::optional<SumsKey> ReadSumsKey(std::string_view bytes) {
  RecordReader reader(bytes);
  SumsKey key;
  if (!TakePlace(reader, kSumsPrefix, key)) return std::nullopt;
  key.limit = LimitId{reader.Take<std::uint32_t>()};
  if (!reader.Complete()) return std::nullopt;
  return key;
}

std::optional<TableGeneration> HoldGenerationOf(std::string_view key) {
  if (const auto hold = ReadHoldKey(key)) return hold->generation;
  if (const auto sums = ReadSumsKey(key)) return sums->generation;
  return std::nullopt;
}

}  // namespace weir
