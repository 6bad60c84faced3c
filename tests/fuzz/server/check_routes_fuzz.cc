// Property: any bytes are either a file of check routes or get a bounded error of one line that
// begins with the place of the mistake. The templates of a route fill with any fields; what a
// variable adds is at most kTemplateValueBytesMax bytes.
//
// The input is the file, and behind its first NUL byte the values of the fields, one a line.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"
#include "core/words/request.h"
#include "server/http/check_routes.h"

namespace weir {
namespace {

constexpr std::string_view kNames[] = {
    "X-Forwarded-For", "X-Forwarded-Uri", "X-Original-URL", "Cookie", "a", "X-Forwarded-Host"};

void CheckError(std::string_view error) {
  WEIR_CHECK(error.size() < 1024);
  WEIR_CHECK(error.starts_with("c.toml:"));
  error.remove_prefix(7);
  const std::size_t colon = error.find(": ");
  WEIR_CHECK(colon != std::string_view::npos);
  WEIR_CHECK(ParseDigits(error.substr(0, colon)).value_or(0) > 0);
  WEIR_CHECK(error.find('\n') == std::string_view::npos);
}

void Fill(const CheckTemplate& text, const ProxiedRequest& request) {
  static const KeyHasher kHasher{HashSecret{}};
  std::string filled;
  const bool done = text.Fill(request, kHasher, filled);
  WEIR_CHECK(done || !text.is_constant());
  WEIR_CHECK(filled.size() <= text.text().size() + kTemplateVariablesMax * kTemplateValueBytesMax);
  if (text.is_constant()) WEIR_CHECK(filled == text.text());
}

void FuzzOne(std::string_view input) {
  const std::size_t end = std::min(input.find('\0'), input.size());
  const absl::StatusOr<CheckRoutes> routes = ParseCheckRoutes(
      input.substr(0, end), "c.toml", [](std::string_view name) { return name == "u"; });
  if (!routes.ok()) return CheckError(StdView(routes.status().message()));
  std::string_view rest = input.substr(std::min(end + 1, input.size()));
  std::vector<HttpField> fields;
  for (const std::string_view name : kNames) {
    const std::size_t line = std::min(rest.find('\n'), rest.size());
    fields.push_back({name, rest.substr(0, line)});
    rest.remove_prefix(std::min(line + 1, rest.size()));
  }
  HttpHead head;
  head.method = "GET";
  head.query = rest;
  head.fields = fields;
  for (const auto& [name, route] : *routes) {
    WEIR_CHECK(IsLabel(name));
    WEIR_CHECK(!route->groups.empty() && route->groups.size() <= kCheckGroupsMax);
    WEIR_CHECK(IsDeniedStatus(route->answer.denied));
    const ProxiedRequest request(head, rest, route->proxy);
    if (route->once) Fill(*route->once, request);
    for (const CheckGroup& group : route->groups) {
      Fill(group.key, request);
      WEIR_CHECK(!group.limits.empty() && group.limits.size() <= kChecksMax);
      for (const CheckTemplate& limit : group.limits) Fill(limit, request);
      if (group.cost) Fill(*group.cost, request);
    }
  }
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
