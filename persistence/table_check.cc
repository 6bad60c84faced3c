#include "persistence/table_check.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

// A table file ends in a footer: the kind of checksum, two padded handles, the version of the
// format, and the mark of a table.
constexpr std::string_view kMark = "\xf7\xcf\xf4\x85\xb7\x41\xe2\x88";
constexpr std::size_t kFooterBytes = 1 + 40 + 4 + 8;
static_assert(kMark.size() == 8);
constexpr std::string_view kProperties = "rocksdb.properties";
constexpr std::uint64_t kMetaIndexBytesMax = 64 * 1024;  // of the block that names the others

struct Handle {
  std::uint64_t offset;
  std::uint64_t bytes;
};

// Takes a number of 7 bits a byte, the lowest first; the last byte is below 0x80.
std::optional<std::uint64_t> TakeVarint(std::string_view& bytes) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return number;
  }
  return std::nullopt;
}

std::optional<Handle> TakeHandle(std::string_view& bytes) {
  const std::optional<std::uint64_t> offset = TakeVarint(bytes);
  const std::optional<std::uint64_t> size = TakeVarint(bytes);
  if (!offset || !size) return std::nullopt;
  return Handle{*offset, *size};
}

std::optional<std::string> Read(std::ifstream& file, std::uint64_t offset, std::size_t bytes) {
  std::string read(bytes, '\0');
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(read.data(), static_cast<std::streamsize>(bytes));
  if (!file) return std::nullopt;
  return read;
}

// Finds the handle of the properties in a block of records {shared, unshared, value's bytes, key's
// rest, value}.
std::optional<Handle> FindProperties(std::string_view block) {
  while (!block.empty()) {
    const auto shared = TakeVarint(block);
    const auto unshared = TakeVarint(block);
    const auto value_bytes = TakeVarint(block);
    if (!shared || !unshared || !value_bytes || *unshared > block.size()) return std::nullopt;
    const std::string_view key = block.substr(0, *unshared);
    block.remove_prefix(*unshared);
    if (*value_bytes > block.size()) return std::nullopt;
    std::string_view value = block.substr(0, *value_bytes);
    block.remove_prefix(*value_bytes);
    if (*shared == 0 && key == kProperties) return TakeHandle(value);
  }
  return std::nullopt;
}

// True if the properties of the table can be found and say that they have a hash index: the highest
// bit of the block's last byte.
bool ClaimsHashIndex(const std::string& path) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || size < kFooterBytes) return false;
  const std::optional<std::string> footer = Read(file, size - kFooterBytes, kFooterBytes);
  if (!footer || !footer->ends_with(kMark)) return false;
  std::string_view handles = std::string_view(*footer).substr(1);
  const std::optional<Handle> meta = TakeHandle(handles);
  if (!meta || meta->bytes > kMetaIndexBytesMax) return false;
  const auto block = Read(file, meta->offset, static_cast<std::size_t>(meta->bytes));
  if (!block) return false;
  const std::optional<Handle> properties = FindProperties(*block);
  if (!properties || properties->bytes == 0) return false;
  const auto last = Read(file, properties->offset + properties->bytes - 1, 1);
  return last && (static_cast<unsigned char>(last->front()) & 0x80) != 0;
}

}  // namespace

absl::Status CheckTables(const std::string& directory) {
  std::error_code error;
  using Files = std::filesystem::directory_iterator;
  for (Files file(directory, error); !error && file != Files(); file.increment(error)) {
    const std::string path = file->path();
    if (path.ends_with(".sst") && ClaimsHashIndex(path)) {
      return absl::DataLossError(
          absl::StrCat("data directory ", directory, ": ", path, " is damaged"));
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
