// The keys of the records of holds and of sums (core/rules/settlement.h), byte by byte; format.h
// has those of everything else, and says what its functions promise. core/table/hold_bytes.h has
// the values.
//
//     "H" generation partition hash id     ->  hold
//     "G" generation partition hash limit  ->  sums
//
// Pure functions on bytes, without RocksDB.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/table/hold_bytes.h"
#include "core/table/limit_registry.h"
#include "core/table/table_generation.h"
#include "persistence/format.h"

namespace weir {

struct HoldKey {
  TableGeneration generation{};
  std::uint16_t partition = 0;
  std::uint64_t hash = 0;
  std::string_view id;  // 1 to kHoldIdBytesMax bytes; as read, a view into the record's key

  friend bool operator==(const HoldKey&, const HoldKey&) = default;
};

struct SumsKey {
  TableGeneration generation{};
  std::uint16_t partition = 0;
  std::uint64_t hash = 0;
  LimitId limit{};

  friend bool operator==(const SumsKey&, const SumsKey&) = default;
};

// Append the bytes to a buffer, as AppendBucketKey does.
void AppendHoldKey(const HoldKey& key, std::string& out);
[[nodiscard]] std::optional<HoldKey> ReadHoldKey(std::string_view bytes);

void AppendSumsKey(const SumsKey& key, std::string& out);
[[nodiscard]] std::optional<SumsKey> ReadSumsKey(std::string_view bytes);

// The generation in the key of a hold or of sums; nothing for another key.
[[nodiscard]] std::optional<TableGeneration> HoldGenerationOf(std::string_view key);

}  // namespace weir
