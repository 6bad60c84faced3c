// POST /json: ShouldRateLimit of Envoy's rate limit service over HTTP/1.1.
#include <array>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

#include "rls/call.h"
#include "server/http/http_exchange.h"
#include "server/http/http_route.h"
#include "server/rls/json_call.h"
#include "server/rls/rate_limit_call.h"

namespace weir {
namespace {

void FailCall(HttpExchange& exchange, int status, std::string_view error) {
  const RlsError why = status == 400   ? RlsError::kInvalid
                       : status == 401 ? RlsError::kUnauthenticated
                       : status == 403 ? RlsError::kPermission
                                       : RlsError::kUnavailable;
  exchange.services().rls.CountError(error.starts_with("OOM") ? RlsError::kExhausted : why);
  exchange.http().requests.AddCall(RequestTally::Result::kError);
  exchange.Fail(status, error);
}

}  // namespace

void RlsJson(HttpExchange& exchange) {
  if (exchange.http().rls == nullptr) return exchange.Fail(404, kNoSuchPath);
  const auto change = std::to_array<std::string_view>({"RL.ALLOW", "", "1/s"});
  if (exchange.IsHeldBack(change)) return exchange.GoOnLater(RlsJson);
  const absl::StatusOr<std::string> message = MessageOfJson(exchange.body());
  RateLimitCall call;
  const absl::Status read = message.ok() ? call.Read(*message) : message.status();
  if (!read.ok()) return FailCall(exchange, 400, absl::StrCat("ERR ", read.message()));
  RateLimitDecision decision(exchange.session(), *exchange.http().rls, exchange.now());
  const std::string error = decision.Decide(call);
  if (!error.empty()) return FailCall(exchange, StatusOfError(error), error);
  exchange.AwaitDelay();
  using Result = RequestTally::Result;
  const bool is_over = decision.answer().is_over;
  exchange.http().requests.AddCall(is_over ? Result::kDenied : Result::kAllowed);
  exchange.Answer(is_over ? 429 : 200, kJson, JsonOf(decision.answer()));
}

}  // namespace weir
