// The HTTP fields that tell a client of its limits: RateLimit, RateLimit-Policy, Retry-After and
// X-RateLimit-*, written from the verdict on its request.
//
//     RateLimit-Policy: "burst";q=10;w=10, "daily";q=1000;w=86400
//     RateLimit: "burst";r=0;t=1
//     Retry-After: 1
//
// The first two are those of draft-ietf-httpapi-ratelimit-headers-11, which is not settled: their
// form is in this file only, their numbers in server/http/rate_limit_numbers.h.
//
// At most kFieldItemsMax limits are listed, first the one that decided. A denial lists in RateLimit
// only those that denied. Shadow limits deny nothing and are never shown.
//
//     class Reader final : public VerdictReader {
//       void Read(const ParsedRequest& request, std::int64_t, const Verdict& verdict) override {
//         HttpWriter& writer = exchange.Begin(200);
//         RateLimitFields(request, verdict, now, choice).Write(limiter, writer);
//         exchange.End();
//       }
//     };
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "core/base/instant.h"
#include "core/commands/request_grammar.h"
#include "core/limiter/limiter.h"
#include "core/rules/decision.h"
#include "protocol/http_writer.h"
#include "server/http/rate_limit_numbers.h"

namespace weir {

inline constexpr std::size_t kFieldItemsMax = 8;

// The limits that a client sees: those with a name (name=), all, the one that decided, none.
enum class ShownLimits : std::uint8_t { kNamed, kAll, kDecisive, kNone };

struct FieldChoice {
  bool rate_limit = true;  // RateLimit and RateLimit-Policy
  bool retry_after = true;
  bool x_rate_limit = false;   // X-RateLimit-Limit, -Remaining, -Reset: of the first limit listed
  bool partition_key = false;  // the parameter `pk`: a hash of the key
  ShownLimits show = ShownLimits::kNamed;
};

class RateLimitFields {
 public:
  // `now`: of the decision. The other arguments must outlive the object.
  RateLimitFields(const ParsedRequest& request, const Verdict& verdict, Instant now,
                  const FieldChoice& choice);

  // Writes the chosen fields that have a value. `limiter`: the one that has decided, which hashes
  // keys for the parameter `pk`. After an admission that left a limit without a token, this asks
  // `limiter` when the same request would pass, which costs as much as a look.
  void Write(Limiter& limiter, HttpWriter& writer) const;

  // The name of the limit that decided; empty unless it is shown.
  [[nodiscard]] std::string_view decisive() const;
  // The names of the limits listed that denied the request; empty if it was admitted.
  [[nodiscard]] std::vector<std::string_view> violated() const;

 private:
  struct Item {
    std::size_t check;  // index in the request
    Quota quota;
  };

  [[nodiscard]] bool IsShown(std::size_t check) const;
  [[nodiscard]] bool IsListed(std::size_t check) const;
  void List(std::size_t check, Instant now);
  [[nodiscard]] bool HasDenied(std::size_t check) const;
  [[nodiscard]] bool TookTheLast(std::size_t check) const;
  void WriteLists(Limiter& limiter, HttpWriter& writer) const;
  void WriteNumbers(HttpWriter& writer) const;

  const ParsedRequest& request_;
  const Verdict& verdict_;
  const Instant now_;
  const FieldChoice& choice_;
  absl::InlinedVector<Item, 4> listed_;
};

}  // namespace weir
