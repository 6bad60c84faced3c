// ShouldRateLimit of envoy.service.ratelimit.v3.RateLimitService, over gRPC.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "rls/answer.h"
#include "rls/call.h"
#include "server/grpc/grpc_method.h"
#include "server/rls/rate_limit_call.h"

namespace weir {
namespace {

// The status that stands for the error of a command.
GrpcStatus GrpcStatusOf(std::string_view error) {
  constexpr auto kStatuses = std::to_array<std::pair<std::string_view, GrpcStatus>>({
      {"NOAUTH", GrpcStatus::kUnauthenticated},
      {"WRONGPASS", GrpcStatus::kUnauthenticated},
      {"NOPERM", GrpcStatus::kPermissionDenied},
      {"OOM", GrpcStatus::kResourceExhausted},
      {"ERR", GrpcStatus::kInvalidArgument},
  });
  const std::string_view prefix = error.substr(0, error.find(' '));
  const auto* const found =
      std::ranges::find(kStatuses, prefix, &std::pair<std::string_view, GrpcStatus>::first);
  return found == kStatuses.end() ? GrpcStatus::kUnavailable : found->second;
}

RlsError RlsErrorOf(GrpcStatus status) {
  switch (status) {
    case GrpcStatus::kInvalidArgument:
      return RlsError::kInvalid;
    case GrpcStatus::kPermissionDenied:
      return RlsError::kPermission;
    case GrpcStatus::kResourceExhausted:
      return RlsError::kExhausted;
    case GrpcStatus::kUnauthenticated:
      return RlsError::kUnauthenticated;
    default:
      return RlsError::kUnavailable;
  }
}

GrpcError FailedCall(const GrpcContext& context, GrpcStatus status, std::string_view error) {
  Worker& worker = context.session.worker();
  worker.CountError(error);
  worker.services.rls.CountError(RlsErrorOf(status));
  context.http.requests.AddCall(RequestTally::Result::kError);
  return {status, std::string(error)};
}

}  // namespace

GrpcResult ShouldRateLimit(std::string_view message, const GrpcContext& context) {
  const std::optional<std::string_view> authorization =
      context.authorization.empty() ? std::nullopt : std::optional(context.authorization);
  const std::string_view refused = context.login.LogIn(authorization, context.session);
  if (!refused.empty()) return FailedCall(context, GrpcStatus::kUnauthenticated, refused);
  thread_local RateLimitCall call;  // whose memory is used again
  if (const absl::Status read = call.Read(message); !read.ok()) {
    return FailedCall(context, GrpcStatus::kInvalidArgument, absl::StrCat("ERR ", read.message()));
  }
  const Instant now = context.state.services.clock.Now();
  RateLimitDecision decision(context.session, *context.http.rls, now);
  const std::string error = decision.Decide(call);
  if (!error.empty()) return FailedCall(context, GrpcStatusOf(error), error);
  using Result = RequestTally::Result;
  context.http.requests.AddCall(decision.answer().is_over ? Result::kDenied : Result::kAllowed);
  return MessageOf(decision.answer());
}

// An error would let the client's request pass.
std::string AnswerToTooLong(Services& services) {
  services.rls.CountError(RlsError::kTooLong);
  return MessageOf({.is_over = !services.settings.Get(&Options::rls_shadow), .statuses = {}});
}

}  // namespace weir
