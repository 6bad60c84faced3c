#include "persistence/log_check.h"

#include <algorithm>
#include <cstdint>

#include "persistence/crc32c.h"

namespace weir {
namespace {

constexpr std::size_t kBlockBytes = 32 * 1024;
constexpr std::size_t kHeaderBytes = 4 + 2 + 1;
constexpr unsigned kWhole = 1;
constexpr unsigned kFirst = 2;
constexpr unsigned kLast = 4;

struct LogRecord {
  std::size_t bytes;  // header and payload
  bool begins_write;
};

// RocksDB masks the checksums that it stores.
constexpr std::uint32_t Masked(std::uint32_t crc) { return (crc >> 15 | crc << 17) + 0xA282EAD8U; }

std::size_t BlockEnd(std::size_t offset) { return (offset / kBlockBytes + 1) * kBlockBytes; }

// The record at an offset, if one is there that reads.
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
  return LogRecord{kHeaderBytes + length, type == kWhole || type == kFirst};
}

// Where the record behind one that ends at `offset` begins.
std::size_t SkipBlockEnd(std::size_t offset) {
  const std::size_t end = BlockEnd(offset);
  return end - offset < kHeaderBytes ? end : offset;
}

bool HasWriteBehind(std::string_view log, std::size_t bad) {
  // The length of a bad record may be what is bad, so the next one may begin at any byte.
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
  while (offset < log.size()) {
    const std::optional<LogRecord> record = ReadRecord(log, offset);
    if (!record) {
      return HasWriteBehind(log, offset) ? std::optional(offset) : std::nullopt;
    }
    offset = SkipBlockEnd(offset + record->bytes);
  }
  return std::nullopt;
}

}  // namespace weir
