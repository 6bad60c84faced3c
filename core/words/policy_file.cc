#include "core/words/policy_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#define TOML_EXCEPTIONS 0   // NOLINT(readability-identifier-naming): the library's name
#define TOML_HEADER_ONLY 1  // NOLINT(readability-identifier-naming)
// toml++ 3.3 asserts that a table's name is well-formed before it reports one that is not.
#define TOML_ASSERT(expression) static_assert(true)  // NOLINT(readability-identifier-naming)
#include <toml++/toml.h>

#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"
#include "core/words/policies.h"

namespace weir {
namespace {

constexpr std::size_t kPolicyFileBytesMax = 16 * 1024 * 1024;

// The error `what` with its place in the file. A string of the file that it quotes may have a line
// break, written as \n there.
absl::Status Wrong(const std::string& path, const toml::source_region& where,
                   std::string_view what) {
  std::string line(what);
  std::ranges::replace_if(
      line, [](unsigned char c) { return absl::ascii_iscntrl(c); }, '?');
  return absl::InvalidArgumentError(absl::StrCat(path, ":", where.begin.line, ": ", line));
}

absl::StatusOr<std::string> ReadPolicyFileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 64 * 1024> piece;
  while (file && text.size() <= kPolicyFileBytesMax) {
    file.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad() || !file.is_open()) {
    return absl::UnavailableError(absl::StrCat("cannot read the policy file ", path, ": ",
                                               std::generic_category().message(errno)));
  }
  if (text.size() > kPolicyFileBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": a policy file has at most ", kPolicyFileBytesMax, " bytes"));
  }
  return text;
}

// Replaces every byte that is not ASCII with '?'. Only comments may have such bytes; elsewhere some
// of them lead toml++ 3.3 to code that it marks as unreachable
// (is_non_ascii_horizontal_whitespace).
std::string InAscii(std::string_view text) {
  constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::string ascii(absl::StripPrefix(AbslView(text), kByteOrderMark));
  std::ranges::replace_if(
      ascii, [](unsigned char c) { return !absl::ascii_isascii(c); }, '?');
  return ascii;
}

// Reads the limits of one policy: a string, or an array of strings.
absl::StatusOr<PolicyLimits> ReadLimits(const std::string& path, const std::string& name,
                                        const toml::node& value) {
  const auto wrong = [&](const toml::node& node, std::string_view what) {
    return Wrong(path, node.source(), absl::StrCat("policy ", Quote(name), ": ", AbslView(what)));
  };
  std::vector<const toml::node*> nodes;
  if (const toml::array* list = value.as_array()) {
    for (const toml::node& node : *list) nodes.push_back(&node);
  } else {
    nodes.push_back(&value);
  }
  PolicyLimits limits;
  for (const toml::node* node : nodes) {
    const toml::value<std::string>* text = node->as_string();
    if (!text) return wrong(*node, "a limit is a string, as in \"10/s\"");
    const std::string_view word = text->get();
    const absl::StatusOr<PolicyLimits> limit = ParsePolicyLimits({&word, 1});
    if (!limit.ok()) return wrong(*node, StdView(limit.status().message()));
    limits.push_back(limit->front());
  }
  if (limits.empty() || limits.size() > kPolicyLimitsMax) {
    return wrong(value, absl::StrCat("it must have 1 to ", kPolicyLimitsMax, " limits"));
  }
  return limits;
}

}  // namespace

absl::StatusOr<PolicyFile> ReadPolicyFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadPolicyFileText(path);
  if (!text.ok()) return text.status();
  return ParsePolicyFile(*text, path);
}

absl::StatusOr<PolicyFile> ParsePolicyFile(std::string_view text, const std::string& path) {
  const toml::parse_result parsed = toml::parse(InAscii(text));
  if (!parsed) return Wrong(path, parsed.error().source(), parsed.error().description());
  PolicyFile file;
  for (const auto& [section, node] : parsed.table()) {
    const toml::table* policies = node.as_table();
    if (section != "policies" || !policies) {
      return Wrong(path, section.source(),
                   absl::StrCat("unexpected ", Quote(section.str()),
                                ": a policy file has one table, [policies]"));
    }
    for (const auto& [name, value] : *policies) {
      if (!IsLabel(name.str())) {
        return Wrong(path, name.source(),
                     absl::StrCat("policy name ", Quote(name.str()), " must be 1 to ",
                                  kLabelBytesMax, " of letters, digits, _ - . :"));
      }
      absl::StatusOr<PolicyLimits> limits = ReadLimits(path, std::string(name.str()), value);
      if (!limits.ok()) return limits.status();
      file.emplace_back(name.str(), *std::move(limits));
    }
  }
  if (file.size() > kPoliciesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": a policy file has at most ", kPoliciesMax, " policies"));
  }
  return file;
}

}  // namespace weir
