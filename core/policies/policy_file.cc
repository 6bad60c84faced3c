#include "core/policies/policy_file.h"

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/base/toml_document.h"
#include "core/policies/policies.h"
#include "core/words/limit_grammar.h"

namespace weir {
namespace {

// Reads the limits of one policy: a string, or an array of strings.
absl::StatusOr<PolicyLimits> ReadLimits(const TomlDocument& document, const std::string& name,
                                        const toml::node& value) {
  const auto wrong = [&](const toml::node& node, std::string_view what) {
    return document.Wrong(node.source(),
                          absl::StrCat("policy ", Quote(name), ": ", AbslView(what)));
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

absl::StatusOr<PolicyFile> PoliciesOf(const TomlDocument& document, const std::string& path) {
  PolicyFile file;
  for (const auto& [section, node] : document.root()) {
    const toml::table* policies = node.as_table();
    if (section != "policies" || !policies) {
      return document.Wrong(section.source(),
                            absl::StrCat("unexpected ", Quote(section.str()),
                                         ": a policy file has one table, [policies]"));
    }
    for (const auto& [name, value] : *policies) {
      if (!IsLabel(name.str())) {
        return document.Wrong(name.source(),
                              absl::StrCat("policy name ", Quote(name.str()), " must be 1 to ",
                                           kLabelBytesMax, " of letters, digits, _ - . :"));
      }
      absl::StatusOr<PolicyLimits> limits = ReadLimits(document, std::string(name.str()), value);
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

}  // namespace

absl::StatusOr<PolicyFile> ReadPolicyFile(const std::string& path) {
  const absl::StatusOr<TomlDocument> document = TomlDocument::Read(path, "policy file");
  if (!document.ok()) return document.status();
  return PoliciesOf(*document, path);
}

absl::StatusOr<PolicyFile> ParsePolicyFile(std::string_view text, const std::string& path) {
  const absl::StatusOr<TomlDocument> document = TomlDocument::Parse(text, path);
  if (!document.ok()) return document.status();
  return PoliciesOf(*document, path);
}

}  // namespace weir
