#include "persistence/log_check.h"

#include <algorithm>
#include <cstdint>

#include "core/base/check.h"
#include "persistence/crc32c.h"

namespace weir {
namespace {

constexpr std::size_t kBlockBytes = 32 * 1024;
constexpr std::size_t kHeaderBytes = 4 + 2 + 1;
constexpr unsigned kWhole = 1;
constexpr unsigned kFirst = 2;
constexpr unsigned kLast = 4;

static_assert(kBlockBytes - kHeaderBytes <= UINT16_MAX);  // A length has two bytes.

struct LogRecord {
  std::size_t bytes;  // header and payload
  bool begins_write;
  bool ends_write;
};

// RocksDB masks the checksums that it stores.
constexpr std::uint32_t Masked(std::uint32_t crc) { return (crc >> 15 | crc << 17) + 0xA282EAD8U; }

std::size_t BlockEnd(std::size_t offset) { return (offset / kBlockBytes + 1) * kBlockBytes; }

// The record at an offset, if it is readable.
std::optional<LogRecord> ReadRecord(std::string_view log, std::size_t offset) {
  const std::size_t end = std::min(log.size(), BlockEnd(offset));
  if (offset >= end || end - offset < kHeaderBytes) return std::nullopt;
  const auto byte = [&](std::size_t i) {
    return std::uint32_t{static_cast<unsigned char>(log[offset + i])};
  };
  const std::uint32_t crc = byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
  const std::size_t length = byte(4) | byte(5) << 8;
  const unsigned type = byte(6);
  if (type < kWhole || type > kLast || length > end - offset - kHeaderBytes) return std::nullopt;
  if (Masked(Crc32c(log.substr(offset + 6, 1 + length))) != crc) return std::nullopt;
  return LogRecord{kHeaderBytes + length, type == kWhole || type == kFirst,
                   type == kWhole || type == kLast};
}

// The beginning of the record that follows one that ends at `offset`.
std::size_t SkipBlockEnd(std::size_t offset) {
  const std::size_t end = BlockEnd(offset);
  return end - offset < kHeaderBytes ? end : offset;
}

// True if a write begins behind the unreadable record at `bad`.
bool HasWriteBehind(std::string_view log, std::size_t bad) {
  // If the length of the record is damaged, the next record may begin at any byte of the block.
  const std::size_t next_block = BlockEnd(bad);
  for (std::size_t offset = bad + 1; offset < std::min(next_block, log.size()); ++offset) {
    const std::optional<LogRecord> record = ReadRecord(log, offset);
    if (record && record->begins_write) return true;
  }
  for (std::size_t block = next_block; block < log.size(); block += kBlockBytes) {
    std::size_t offset = block;
    while (const std::optional<LogRecord> record = ReadRecord(log, offset)) {
      if (record->begins_write) return true;
      offset += record->bytes;
      if (BlockEnd(offset) != BlockEnd(block)) break;
    }
  }
  return false;
}

}  // namespace

std::optional<std::size_t> FindLogDamage(std::string_view log) {
  std::size_t offset = 0;
  bool is_inside_write = false;
  while (offset < log.size()) {
    const std::optional<LogRecord> record = ReadRecord(log, offset);
    if (!record) {
      return HasWriteBehind(log, offset) ? std::optional(offset) : std::nullopt;
    }
    if (record->begins_write == is_inside_write) return offset;
    is_inside_write = !record->ends_write;
    const std::size_t next = SkipBlockEnd(offset + record->bytes);
    WEIR_CHECK(next > offset);
    offset = next;
  }
  return std::nullopt;
}

}  // namespace weir
