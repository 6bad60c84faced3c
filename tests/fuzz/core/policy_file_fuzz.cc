// Property: any bytes are either a policy file or get a bounded error of one line that begins with
// the place of the mistake. Policies that were read print as a file of the same policies.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/policies/policy_file.h"
#include "core/words/limit_grammar.h"

namespace weir {
namespace {

std::string Printed(const PolicyFile& file) {
  std::string text = "[policies]\n";
  for (const auto& [name, limits] : file) {
    text += "\"" + name + "\" = [";
    for (const PolicyLimit& limit : limits) text += "\"" + PolicyLimitText(limit) + "\", ";
    text += "]\n";
  }
  return text;
}

void CheckError(std::string_view error) {
  WEIR_CHECK(error.size() < 1024);
  WEIR_CHECK(error.starts_with("p.toml:"));
  error.remove_prefix(7);
  const std::size_t colon = error.find(": ");
  WEIR_CHECK(colon != std::string_view::npos);
  WEIR_CHECK(ParseDigits(error.substr(0, colon)).value_or(0) > 0);
  WEIR_CHECK(error.size() > colon + 2);
  WEIR_CHECK(error.find('\n') == std::string_view::npos);
}

void FuzzOne(std::string_view text) {
  const absl::StatusOr<PolicyFile> file = ParsePolicyFile(text, "p.toml");
  if (!file.ok()) {
    CheckError(StdView(file.status().message()));
    return;
  }
  for (const auto& [name, limits] : *file) {
    WEIR_CHECK(IsLabel(name));
    WEIR_CHECK(!limits.empty() && limits.size() <= kPolicyLimitsMax);
  }
  const absl::StatusOr<PolicyFile> again = ParsePolicyFile(Printed(*file), "again.toml");
  WEIR_CHECK(again.ok());
  WEIR_CHECK(*again == *file);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
