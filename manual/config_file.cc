// /etc/weir/weir.toml, the options of the service that the package installs.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

#include "core/base/filled_text.h"
#include "core/base/status.h"
#include "manual/documents.h"
#include "server/config/options.h"

namespace weir {
namespace {

constexpr std::size_t kColumnsMax = 79;

constexpr std::string_view kConfigFileHead =
    "The options of the service weir. Lines that begin with \"#name\" show an option and its "
    "default; remove the \"#\" to set it. weir.toml(5) describes the values. Options take effect "
    "at "
    "the next start: systemctl restart weir. Only the files that they name are also read at: "
    "systemctl reload weir.";

// The options that the package sets, and the files that it installs for others.
struct PackageValue {
  std::string_view name;
  std::string_view value;
  bool is_set = false;  // else it is shown as a comment
};

constexpr std::array<PackageValue, 6> kPackageValues = {{
    {.name = "admin-port", .value = "7382", .is_set = true},
    {.name = "backup-dir", .value = "/var/lib/weir/backups", .is_set = true},
    {.name = "checks", .value = "/etc/weir/checks.toml"},
    {.name = "data-dir", .value = "/var/lib/weir", .is_set = true},
    {.name = "policies", .value = "/etc/weir/policies.toml"},
    {.name = "users-file", .value = "/etc/weir/users"},
}};

void AppendComment(std::string_view text, std::string& file) {
  AppendFilled(text, kColumnsMax, "# ", "# ", file);
}

bool IsQuoted(const OptionSpec& spec) {
  const std::string_view kind = OptionKind(spec);
  return kind != "NUMBER" && kind != "PORTS" && kind != "FLAG";
}

}  // namespace

std::string ConfigFile() {
  std::string file;
  AppendComment(kConfigFileHead, file);
  for (const OptionSpec& spec : OptionTable()) {
    if (spec.name == "config") continue;
    const auto* const package = std::ranges::find(kPackageValues, spec.name, &PackageValue::name);
    const bool has_package_value = package != kPackageValues.end();
    const std::string_view value = has_package_value ? package->value : spec.fallback;
    const absl::string_view quote = IsQuoted(spec) ? "\"" : "";
    absl::StrAppend(&file, "\n");
    const bool has_any_text = OptionKind(spec) == "TEXT";
    AppendComment(
        absl::StrCat(OptionHelp(spec),
                     has_any_text ? "" : absl::StrCat(" Must be ", ExpectedText(spec), ".")),
        file);

    absl::StrAppend(&file, has_package_value && package->is_set ? "" : "#", AbslView(spec.name),
                    " = ", quote, AbslView(value), quote, "\n");
  }
  return file;
}

}  // namespace weir
