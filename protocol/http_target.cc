#include "protocol/http_target.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

#include "core/base/status.h"
#include "protocol/hex_digit.h"

namespace weir {
namespace {

constexpr std::string_view kHostPunctuation = "-._~!$&'()*+,;=:%[]";

bool IsHostByte(char byte) {
  return absl::ascii_isalnum(static_cast<unsigned char>(byte)) ||
         kHostPunctuation.find(byte) != std::string_view::npos;
}

// The bytes of `target` behind "http://" or "https://"; nothing if it begins otherwise.
std::optional<std::string_view> WithoutScheme(std::string_view target) {
  for (const std::string_view scheme :
       {std::string_view("http://"), std::string_view("https://")}) {
    if (absl::StartsWithIgnoreCase(AbslView(target), AbslView(scheme))) {
      return target.substr(scheme.size());
    }
  }
  return std::nullopt;
}

bool IsUnreserved(char byte) noexcept {
  return absl::ascii_isalnum(static_cast<unsigned char>(byte)) ||
         std::string_view("-._~").find(byte) != std::string_view::npos;
}

// Appends a segment of a path with its escapes in their normal form.
void AppendNormalSegment(std::string_view text, std::string& out) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '%' && text.size() - i > 2;
    const std::optional<unsigned> high = is_escape ? HexDigit(text[i + 1]) : std::nullopt;
    const std::optional<unsigned> low = is_escape ? HexDigit(text[i + 2]) : std::nullopt;
    if (!high || !low) {
      out.push_back(text[i]);
      continue;
    }
    i += 2;
    const char byte = static_cast<char>(*high * 16 + *low);
    if (IsUnreserved(byte)) {
      out.push_back(byte);
    } else {
      out.append({'%', kDigits[*high], kDigits[*low]});
    }
  }
}

}  // namespace

bool IsHost(std::string_view text) noexcept {
  return !text.empty() && std::ranges::all_of(text, IsHostByte);
}

std::optional<HttpTarget> SplitTarget(std::string_view target) noexcept {
  HttpTarget parts;
  if (target == "*") {
    parts.path = target;
    return parts;
  }
  if (target.find('#') != std::string_view::npos) return std::nullopt;
  if (const auto rest = WithoutScheme(target)) {
    parts.host = rest->substr(0, rest->find_first_of("/?"));
    if (!IsHost(parts.host)) return std::nullopt;
    target = rest->substr(parts.host.size());
  } else if (!target.starts_with('/')) {
    return std::nullopt;
  }
  const std::size_t path_end = std::min(target.find('?'), target.size());
  parts.path = path_end > 0 ? target.substr(0, path_end) : "/";
  if (path_end < target.size()) parts.query = target.substr(path_end + 1);
  return parts;
}

bool QueryReader::Next() noexcept {
  while (rest_.starts_with('&')) rest_.remove_prefix(1);
  if (rest_.empty()) return false;
  const std::string_view parameter = rest_.substr(0, rest_.find('&'));
  rest_.remove_prefix(parameter.size());
  const std::size_t name_end = std::min(parameter.find('='), parameter.size());
  name_ = parameter.substr(0, name_end);
  value_ = parameter.substr(std::min(name_end + 1, parameter.size()));
  return true;
}

void AppendNormalPath(std::string_view path, std::string& out) {
  if (!path.starts_with('/')) return static_cast<void>(out.append(path));
  const std::size_t begin = out.size();
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view text = path.substr(0, path.find('/'));
    path.remove_prefix(text.size());
    const bool is_last = path.empty();
    const std::size_t slash = out.size();
    out.push_back('/');
    AppendNormalSegment(text, out);
    const std::string_view segment = std::string_view(out).substr(slash + 1);
    const bool goes_up = segment == "..";
    if (!goes_up && segment != "." && (!segment.empty() || is_last)) continue;
    out.resize(slash);
    if (goes_up && slash > begin) out.resize(out.rfind('/'));
    if (is_last) out.push_back('/');
  }
}

bool AppendDecoded(std::string_view text, PlusMeans plus, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus == PlusMeans::kBlank) {
      out.push_back(' ');
    } else if (text[i] != '%') {
      out.push_back(text[i]);
    } else {
      if (text.size() - i < 3) return false;
      const std::optional<unsigned> high = HexDigit(text[i + 1]);
      const std::optional<unsigned> low = HexDigit(text[i + 2]);
      if (!high || !low) return false;
      out.push_back(static_cast<char>(*high * 16 + *low));
      i += 2;
    }
  }
  return true;
}

}  // namespace weir
