#include "rls/reference_name.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"

namespace weir {
namespace {

constexpr std::size_t kNamedLevels = 2;

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// The end of the IPv4 address that begins there; 0 if none does.
std::size_t EndOfIpv4(std::string_view text, std::size_t at) {
  for (int number = 0;; ++number) {
    const std::size_t begin = at;
    while (at < text.size() && at - begin < 3 && IsDigit(text[at])) ++at;
    if (at == begin) return 0;
    if (number == 3) return at;
    if (at == text.size() || text[at] != '.') return 0;
    ++at;
  }
}

void ReplaceForbidden(std::string& name) {
  for (char& c : name) {
    if (c == ':' || c == '|') c = '_';
  }
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = IsDigit(name[at]) ? EndOfIpv4(name, at) : 0;
    if (end != 0)
      std::replace(name.begin() + static_cast<std::ptrdiff_t>(at),
                   name.begin() + static_cast<std::ptrdiff_t>(end), '.', '_');
    at = std::max(end, at + 1);
  }
}

}  // namespace

std::string ReferenceName(std::string_view domain, std::span<const DescriptorEntry> levels) {
  std::string name(domain);
  for (const auto& [key, value] : levels.first(std::min(levels.size(), kNamedLevels))) {
    name += '.';
    name += key;
    if (value.empty()) continue;
    name += '_';
    name += value;
  }
  ReplaceForbidden(name);
  std::size_t end = name.find('.');
  for (std::size_t level = 0; level < kNamedLevels && end != std::string::npos; ++level) {
    end = name.find('.', end + 1);
  }
  if (end != std::string::npos) name.resize(end);
  return name;
}

std::string ReferenceDomain(std::string_view domain) {
  std::string name(domain);
  std::ranges::replace_if(
      name, [](char c) { return !absl::ascii_isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

}  // namespace weir
