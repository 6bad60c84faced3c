// A response of a control plane, envoy.service.discovery.v3.DiscoveryResponse: all rules of all
// domains, each resource a RateLimitConfig and so a domain.
//
//     absl::StatusOr<XdsResponse> response = ReadXdsResponse(message);
//     if (response.ok() && response->rules.ok()) ... RuleTree::Create(*response->rules, ...)
//
// Pure; thread-safe. Cost: some us a rule. Tested by xds_response_test.cc and xds_response_fuzz.cc.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "rls/rule.h"

namespace weir {

inline constexpr std::string_view kXdsRuleType =
    "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig";
inline constexpr std::size_t kXdsResourcesMax = kRulesMax;
inline constexpr std::size_t kXdsResourceBytesMax = 4 * 1024 * 1024;  // as of a file
inline constexpr std::size_t kXdsNameBytesMax = 1024;  // of a version, and of a nonce
// Descriptors, their limits and values of metadata, and so on, of all resources together: room for
// 20 of each of kRulesMax rules. As objects of protobuf they take some 40 MB, and more would not
// be refused before they are made.
inline constexpr std::size_t kXdsMessagesMax = 200'000;

struct XdsResponse {
  std::string version;
  std::string nonce;  // names the response in its answer
  // A RuleFile for each resource, in their order, with the resource's name for its path. Or
  // kInvalidArgument and one line about the first mistake, which begins with its place, the name
  // and the way to the rule:
  //     shop: user > path: /api/*: unknown unit 'UNKNOWN' (second, minute, ...)
  // Mistakes that only all of them show are those of RuleTree::Create. No resource is no mistake.
  absl::StatusOr<std::vector<RuleFile>> rules;
};

// Fails with kInvalidArgument if the bytes are no such message, or its version or nonce is longer
// than kXdsNameBytesMax.
[[nodiscard]] absl::StatusOr<XdsResponse> ReadXdsResponse(std::string_view message);

}  // namespace weir
