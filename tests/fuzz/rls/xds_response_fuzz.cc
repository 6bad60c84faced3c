// Property: any bytes are either a response or an error of one short line. Its rules keep the
// bounds of files, each parent stands before its children, and they make a tree or one more error
// of one line. A parse of them as a RateLimitConfig makes no more objects than were counted, or
// fails where there is no count.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "rls/message_count.h"
#include "rls/rule_tree.h"
#include "rls/xds.pb.h"
#include "rls/xds_response.h"
#include "tests/rls/count_objects.h"

namespace weir {
namespace {

// Eight levels of two texts each, and a text that is quoted.
constexpr std::size_t kErrorBytesMax = 32 * 1024;

void CheckError(const absl::Status& status) {
  const std::string_view error = StdView(status.message());
  WEIR_CHECK(!error.empty() && error.size() < kErrorBytesMax);
  WEIR_CHECK(error.find('\n') == std::string_view::npos);
}

void CheckFile(const RuleFile& file) {
  WEIR_CHECK(!file.path.empty() && file.path.size() <= kRuleTextBytesMax);
  WEIR_CHECK(!file.domain.empty() && file.domain.size() <= kDomainBytesMax);
  WEIR_CHECK(file.rules.size() <= kRulesMax);
  for (std::size_t i = 0; i < file.rules.size(); ++i) {
    const Rule& rule = file.rules[i];
    WEIR_CHECK(rule.parent == Rule::kNoParent || rule.parent < i);
    WEIR_CHECK(!rule.key.empty() && rule.key.size() <= kRuleTextBytesMax);
    WEIR_CHECK(rule.value.size() <= kRuleTextBytesMax);
    WEIR_CHECK(!rule.limit || rule.limit->limits.size() == 1);
  }
}

void CheckCount(std::string_view message) {
  xds::RateLimitConfig config;
  const bool is_read = config.ParseFromArray(message.data(), static_cast<int>(message.size()));
  const std::optional<std::size_t> counted = CountMessages(message, message.size() + 1);
  WEIR_CHECK(!is_read || counted.has_value());
  WEIR_CHECK(!counted || *counted >= CountObjects(config));
  WEIR_CHECK(!counted || *counted <= message.size() + 1);
}

void FuzzOne(std::string_view message) {
  CheckCount(message);
  const absl::StatusOr<XdsResponse> response = ReadXdsResponse(message);
  if (!response.ok()) return CheckError(response.status());
  if (!response->rules.ok()) return CheckError(response->rules.status());
  for (const RuleFile& file : *response->rules) CheckFile(file);
  const absl::StatusOr<RuleTree> tree = RuleTree::Create(*response->rules, false);
  if (!tree.ok()) CheckError(tree.status());
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
