#include "replication/hello.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

#include "core/base/status.h"

namespace weir {
namespace {

constexpr std::size_t kParts = 8;
constexpr std::size_t kHelloBytesMax = 1024;

// A number in digits only.
template <typename Number>
bool ReadDigits(absl::string_view text, Number& number) {
  std::uint64_t read = 0;
  const bool is_number = !text.empty() && text[0] != '+' && text[0] != ' ' &&
                         absl::SimpleAtoi(text, &read) && text.back() != ' ';
  number = static_cast<Number>(read);
  return is_number && number == read;
}

}  // namespace

std::optional<Hello> ReadHello(std::string_view message) {
  if (message.size() > kHelloBytesMax) return std::nullopt;
  const std::vector<absl::string_view> parts = absl::StrSplit(AbslView(message), ',');
  if (parts.size() != kParts) return std::nullopt;
  Hello hello{.name = std::string(parts[4]), .host = std::string(parts[5])};
  std::uint16_t own_port = 0;
  std::uint64_t own_epoch = 0;
  const bool is_whole = ReadDigits(parts[1], own_port) && ReadDigits(parts[3], own_epoch) &&
                        ReadDigits(parts[6], hello.port) && ReadDigits(parts[7], hello.epoch);
  if (!is_whole || hello.port == 0 || hello.name.empty() || hello.host.empty()) return std::nullopt;
  return hello;
}

}  // namespace weir
