// The service's side of one stream of envoy.service.discovery.v3.AggregatedDiscoveryService: a
// first request for all rules, and then one answer to each response, in their order.
//
//     XdsStream stream({.id = "default", .metadata = {}, .user_agent_version = "0.3.0"});
//     send(stream.FirstRequest());
//     send(stream.Accept(response));               // ACK: its rules are in force
//     send(stream.Refuse(response, "shop: ..."));  // NACK: the rules are those of before
//
// An ACK names the version of the response; a NACK that which this stream has accepted last, and
// why. The first request of each stream names none: a control plane that was restarted may use an
// old version for other rules.
//
// Requests are messages of protobuf without a prefix. Not thread-safe; no clock, no socket. Tested
// by xds_stream_test.cc.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/instant.h"
#include "rls/xds_response.h"

namespace weir {

// Who asks, in every request.
struct XdsNode {
  std::string id;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::string user_agent_version;
};

class XdsStream {
 public:
  explicit XdsStream(XdsNode node) : node_(std::move(node)) {}

  [[nodiscard]] std::string FirstRequest();
  // The answers to a response, to be sent once each.
  [[nodiscard]] std::string Accept(const XdsResponse& response);
  [[nodiscard]] std::string Refuse(const XdsResponse& response, std::string_view why) const;

 private:
  XdsNode node_;
  std::string accepted_;  // the version that this stream has accepted last; empty: none
};

// The pauses before a control plane is connected to again: 0.5 s, doubled up to 30 s, each
// shortened at random by up to a half, so that many servers do not come back at once.
class XdsBackOff {
 public:
  // `share`: from 0 (half of the pause) to 1 (the whole), at random.
  [[nodiscard]] Nanos Next(double share);
  // A response was accepted: the next pause is the first again.
  void Reset() noexcept { pause_ = kFirst; }

 private:
  static constexpr Nanos kFirst = std::chrono::milliseconds{500};
  static constexpr Nanos kLongest = std::chrono::seconds{30};

  Nanos pause_ = kFirst;
};

}  // namespace weir
