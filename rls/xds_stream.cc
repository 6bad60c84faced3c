#include "rls/xds_stream.h"

#include <algorithm>

#include "core/base/utf8.h"
#include "rls/xds.pb.h"

namespace weir {
namespace {

constexpr int kInvalidArgument = 3;  // of gRPC

// A reader of protobuf refuses a text that is no UTF-8.
xds::DiscoveryRequest RequestOf(const XdsNode& from) {
  xds::DiscoveryRequest request;
  request.set_type_url(std::string(kXdsRuleType));
  xds::Node& node = *request.mutable_node();
  node.set_id(AsUtf8(from.id));
  node.set_user_agent_name("weir");
  node.set_user_agent_version(from.user_agent_version);
  for (const auto& [key, value] : from.metadata) {
    rls::Field& field = *node.mutable_metadata()->add_fields();
    field.set_key(AsUtf8(key));
    field.mutable_value()->set_string_value(AsUtf8(value));
  }
  return request;
}

}  // namespace

std::string XdsStream::FirstRequest() {
  accepted_.clear();
  return RequestOf(node_).SerializeAsString();
}

std::string XdsStream::Accept(const XdsResponse& response) {
  accepted_ = response.version;
  xds::DiscoveryRequest request = RequestOf(node_);
  request.set_version_info(accepted_);
  request.set_response_nonce(response.nonce);
  return request.SerializeAsString();
}

std::string XdsStream::Refuse(const XdsResponse& response, std::string_view why) const {
  xds::DiscoveryRequest request = RequestOf(node_);
  request.set_version_info(accepted_);
  request.set_response_nonce(response.nonce);
  request.mutable_error_detail()->set_code(kInvalidArgument);
  request.mutable_error_detail()->set_message(AsUtf8(why));
  return request.SerializeAsString();
}

Nanos XdsBackOff::Next(double share) {
  const Nanos half = pause_ / 2;
  const Nanos pause = half + std::chrono::duration_cast<Nanos>(half * share);
  pause_ = std::min(2 * pause_, kLongest);
  return pause;
}

}  // namespace weir
