#include "server/page/api_parameters.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/words/number_word.h"
#include "protocol/http_target.h"
#include "server/http/http_exchange.h"

namespace weir {

bool ReadApiParameters(HttpExchange& exchange, std::initializer_list<ApiParameter> parameters) {
  for (QueryReader query(exchange.head().query); query.Next();) {
    const auto* const known = std::ranges::find(parameters, query.name(), &ApiParameter::name);
    if (known == parameters.end()) {
      exchange.Fail(400, absl::StrCat("ERR unknown parameter ", Quote(query.name())));
      return false;
    }
    if (known->value) {
      exchange.Fail(400, absl::StrCat("ERR the parameter ", AbslView(known->name),
                                      " is given more than once"));
      return false;
    }
    if (!AppendDecoded(query.value(), PlusMeans::kBlank, known->value.emplace())) {
      exchange.Fail(400, "ERR a parameter is not encoded as a URL needs it");
      return false;
    }
  }
  return true;
}

std::optional<std::int64_t> ReadNumberParameter(HttpExchange& exchange, std::string_view name,
                                                const std::optional<std::string>& value,
                                                std::int64_t otherwise, std::int64_t min,
                                                std::int64_t max) {
  if (!value) return otherwise;
  const absl::StatusOr<std::int64_t> number = ReadNumber(name, *value, min, max);
  if (number.ok()) return *number;
  exchange.Fail(400, absl::StrCat("ERR ", number.status().message()));
  return std::nullopt;
}

}  // namespace weir
