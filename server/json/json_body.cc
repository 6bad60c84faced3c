#include "server/json/json_body.h"

#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

#include "core/base/status.h"
#include "server/http/http_exchange.h"

namespace weir {
bool HasJsonBody(HttpExchange& exchange) {
  const HttpHead& head = exchange.head();
  if (!head.content_length && !head.chunked) {
    exchange.Fail(411, "ERR a body is missing: Content-Length says how long it is");
    return false;
  }
  const std::string_view type = head.Field("Content-Type").value_or("");
  const std::string_view essence = type.substr(0, type.find(';'));
  if (!absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(AbslView(essence)), AbslView(kJson))) {
    exchange.Fail(415, "ERR invalid Content-Type: must be application/json");
    return false;
  }
  for (const HttpField& field : head.fields) {
    if (!absl::EqualsIgnoreCase(AbslView(field.name), "Content-Encoding")) continue;
    if (absl::EqualsIgnoreCase(AbslView(field.value), "identity")) continue;
    exchange.Fail(415, "ERR unsupported Content-Encoding: a body must be sent as it is");
    return false;
  }
  exchange.session().work().Charge(exchange.body().size() / kJsonBytesPerUnit);
  return true;
}

}  // namespace weir
