#include "rls/xds_response.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "core/base/file_text.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/base/utf8.h"
#include "rls/message_count.h"
#include "rls/rule_checks.h"
#include "rls/units.h"
#include "rls/xds.pb.h"

namespace weir {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// What the resources before one of a response have.
struct Sums {
  std::size_t rules = 0;
  std::size_t messages = 0;
};

// The name of a unit's number in messages; the number itself if it has none.
std::string NameOfUnit(int number) {
  if (number < 0 || number >= static_cast<int>(kServiceUnitNames.size())) {
    return absl::StrCat(number);
  }
  return std::string(kServiceUnitNames[static_cast<std::size_t>(number)]);
}

absl::Status ReadText(const std::string& sent, std::string& text) {
  text = sent;
  return CheckRuleText(sent, kRuleTextBytesMax);
}

absl::Status ReadLimit(const xds::Policy& sent, RuleLimit& limit) {
  WEIR_RETURN_IF_ERROR(ReadText(sent.name(), limit.name));
  for (const xds::Replaced& replaced : sent.replaces()) {
    std::string name;
    WEIR_RETURN_IF_ERROR(ReadText(replaced.name(), name));
    WEIR_RETURN_IF_ERROR(AddReplaced(std::move(name), limit));
  }
  if (sent.unlimited()) {
    if (sent.unit() != 0) return StandsBeside("unit", "unlimited");
    SetUnlimited(limit);
    return absl::OkStatus();
  }
  const absl::StatusOr<const RuleUnitRow*> unit = FindRuleUnit(NameOfUnit(sent.unit()));
  if (!unit.ok()) return unit.status();
  return SetRate({.unit = **unit, .requests = sent.requests_per_unit()}, limit);
}

absl::Status ReadMetadataMap(const rls::Struct& sent, int level, MetadataBound& bound,
                             Metadata::Map& map);

absl::Status ReadMetadata(const rls::Value& sent, int level, MetadataBound& bound,
                          Metadata& metadata) {
  WEIR_RETURN_IF_ERROR(bound.AddValue(sent.string_value().size()));
  switch (sent.kind_case()) {
    case rls::Value::kNumberValue:
      if (!std::isfinite(sent.number_value())) {
        return absl::InvalidArgumentError("metadata has a number that is not finite");
      }
      metadata.value = sent.number_value();
      return absl::OkStatus();
    case rls::Value::kStringValue:
      metadata.value = AsUtf8(sent.string_value());
      return absl::OkStatus();
    case rls::Value::kBoolValue:
      metadata.value = sent.bool_value();
      return absl::OkStatus();
    case rls::Value::kStructValue:
      WEIR_RETURN_IF_ERROR(MetadataBound::CheckLevel(level));
      return ReadMetadataMap(sent.struct_value(), level, bound,
                             metadata.value.emplace<Metadata::Map>());
    case rls::Value::kListValue: {
      WEIR_RETURN_IF_ERROR(MetadataBound::CheckLevel(level));
      auto& elements = metadata.value.emplace<Metadata::List>();
      for (const rls::Value& element : sent.list_value().values()) {
        WEIR_RETURN_IF_ERROR(ReadMetadata(element, level + 1, bound, elements.emplace_back()));
      }
      return absl::OkStatus();
    }
    case rls::Value::kNullValue:
    case rls::Value::KIND_NOT_SET:
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

// A key that stands twice has its last value, as maps of protobuf have it.
absl::Status ReadMetadataMap(const rls::Struct& sent, int level, MetadataBound& bound,
                             Metadata::Map& map) {
  for (const rls::Field& field : sent.fields()) {
    bound.AddKey(field.key());
    Metadata metadata;
    WEIR_RETURN_IF_ERROR(ReadMetadata(field.value(), level + 1, bound, metadata));
    const std::string key = AsUtf8(field.key());
    const auto present = std::ranges::find(map, key, &Metadata::Field::key);
    if (present == map.end()) {
      map.push_back({.key = key, .metadata = std::move(metadata)});
    } else {
      present->metadata = std::move(metadata);
    }
  }
  return absl::OkStatus();
}

// Reads the descriptors of one resource into its rules.
class DescriptorReader {
 public:
  // `rules_before`: those of the resources before it.
  DescriptorReader(RuleFile& file, std::size_t rules_before)
      : file_(file), rules_before_(rules_before) {}

  absl::Status ReadAll(const google::protobuf::RepeatedPtrField<xds::Descriptor>& sent,
                       std::uint32_t parent, int level) {
    for (const xds::Descriptor& descriptor : sent) {
      Rule rule;
      rule.parent = parent;
      absl::Status read = Read(descriptor, level, rule);
      if (!read.ok()) return WrongAt(PlaceOf(rule), StdView(read.message()));
      file_.rules.push_back(std::move(rule));
      const auto place = static_cast<std::uint32_t>(file_.rules.size() - 1);
      WEIR_RETURN_IF_ERROR(ReadAll(descriptor.descriptors(), place, level + 1));
    }
    return absl::OkStatus();
  }

 private:
  // One without a key is named by the rule above it.
  [[nodiscard]] std::string PlaceOf(const Rule& rule) const {
    if (!rule.key.empty()) return PlaceText(file_, file_.rules, rule);
    if (rule.parent == Rule::kNoParent) return file_.path;
    return PlaceText(file_, file_.rules, file_.rules[rule.parent]);
  }

  absl::Status Read(const xds::Descriptor& sent, int level, Rule& rule) const {
    WEIR_RETURN_IF_ERROR(ReadText(sent.key(), rule.key));
    WEIR_RETURN_IF_ERROR(CheckRuleKey(rule.key));
    WEIR_RETURN_IF_ERROR(ReadText(sent.value(), rule.value));
    WEIR_RETURN_IF_ERROR(CheckRuleLevel(level));
    WEIR_RETURN_IF_ERROR(CheckRuleCount(rules_before_ + file_.rules.size()));
    rule.shadow_mode = sent.shadow_mode();
    rule.detailed_metric = sent.detailed_metric();
    rule.quota_mode = sent.quota_mode();
    if (sent.has_rate_limit()) {
      WEIR_RETURN_IF_ERROR(ReadLimit(sent.rate_limit(), rule.limit.emplace()));
    }
    MetadataBound bound;
    return ReadMetadataMap(sent.metadata(), 1, bound, rule.metadata);
  }

  RuleFile& file_;
  const std::size_t rules_before_;
};

std::string UnknownType(std::string_view type) {
  return absl::StrCat("unknown type ", Quote(type), " (", AbslView(kXdsRuleType), ")");
}

absl::StatusOr<RuleFile> ReadConfig(std::string_view sent, std::string_view unnamed, Sums& sums) {
  if (sent.size() > kXdsResourceBytesMax) {
    return WrongAt(unnamed, absl::StrCat("more than ", kXdsResourceBytesMax, " bytes"));
  }
  const std::optional<std::size_t> messages = CountMessages(sent, kXdsMessagesMax - sums.messages);
  if (!messages) return WrongAt(unnamed, "not a RateLimitConfig");
  sums.messages += *messages;
  if (sums.messages > kXdsMessagesMax) {
    return WrongAt(unnamed, absl::StrCat("more than ", kXdsMessagesMax,
                                         " messages with those of the resources before it"));
  }
  xds::RateLimitConfig config;
  if (!config.ParseFromArray(sent.data(), static_cast<int>(sent.size()))) {
    return WrongAt(unnamed, "not a RateLimitConfig");
  }
  RuleFile file;
  file.path = config.name().empty() ? unnamed : config.name();
  if (const absl::Status fits = CheckRuleText(file.path, kRuleTextBytesMax); !fits.ok()) {
    return WrongAt(unnamed, StdView(fits.message()));
  }
  file.domain = config.domain();
  if (const absl::Status right = CheckDomain(file.domain); !right.ok()) {
    return WrongAt(file.path, StdView(right.message()));
  }
  WEIR_RETURN_IF_ERROR(
      DescriptorReader(file, sums.rules).ReadAll(config.descriptors(), Rule::kNoParent, 1));
  sums.rules += file.rules.size();
  return file;
}

// `number`: of the resource, from 1 on, for one that has no name.
absl::StatusOr<RuleFile> ReadResource(std::string_view sent, std::size_t number, Sums& sums) {
  const std::string unnamed = absl::StrCat("resource ", number);
  xds::Any resource;
  if (!resource.ParseFromArray(sent.data(), static_cast<int>(sent.size()))) {
    return WrongAt(unnamed, "not an Any");
  }
  if (resource.type_url() != kXdsRuleType) {
    return WrongAt(unnamed, UnknownType(resource.type_url()));
  }
  return ReadConfig(resource.value(), unnamed, sums);
}

// The parts of a response. A resource takes two bytes on the wire, and some 50 as an object of
// protobuf, so they are found without one.
struct Parts {
  std::vector<std::string_view> resources;  // at most kXdsResourcesMax + 1
  std::string others;                       // the other fields, as they were sent
};

absl::StatusOr<Parts> Split(std::string_view message) {
  constexpr std::uint32_t kResourceTag = WireFormatLite::MakeTag(
      xds::DiscoveryResponse::kResourcesFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  const auto bad = [] { return absl::InvalidArgumentError("not a DiscoveryResponse"); };
  const int size = static_cast<int>(message.size());
  CodedInputStream input(reinterpret_cast<const std::uint8_t*>(message.data()), size);
  input.PushLimit(size);
  const auto place = [&input] { return static_cast<std::size_t>(input.CurrentPosition()); };
  Parts parts;
  std::size_t begin = 0;
  while (const std::uint32_t tag = input.ReadTag()) {
    if (tag == kResourceTag) {
      int length = 0;
      if (!input.ReadVarintSizeAsInt(&length)) return bad();
      const std::string_view resource = message.substr(place(), static_cast<std::size_t>(length));
      if (parts.resources.size() <= kXdsResourcesMax) parts.resources.push_back(resource);
      if (!input.Skip(length)) return bad();
    } else {
      if (!WireFormatLite::SkipField(&input, tag)) return bad();
      parts.others += message.substr(begin, place() - begin);
    }
    begin = place();
  }
  if (!input.ConsumedEntireMessage()) return bad();
  return parts;
}

absl::StatusOr<std::vector<RuleFile>> ReadResources(
    const std::string& type_url, const std::vector<std::string_view>& resources) {
  if (type_url != kXdsRuleType) return WrongAt("response", UnknownType(type_url));
  if (resources.size() > kXdsResourcesMax) {
    return WrongAt("response", absl::StrCat("more than ", kXdsResourcesMax, " resources"));
  }
  std::vector<RuleFile> files;
  Sums sums;
  for (const std::string_view resource : resources) {
    absl::StatusOr<RuleFile> file = ReadResource(resource, files.size() + 1, sums);
    if (!file.ok()) return file.status();
    files.push_back(*std::move(file));
  }
  return files;
}

}  // namespace

absl::StatusOr<XdsResponse> ReadXdsResponse(std::string_view message) {
  const absl::StatusOr<Parts> parts = Split(message);
  if (!parts.ok()) return parts.status();
  xds::DiscoveryResponse sent;
  if (!sent.ParseFromString(parts->others)) {
    return absl::InvalidArgumentError("not a DiscoveryResponse");
  }
  if (std::max(sent.version_info().size(), sent.nonce().size()) > kXdsNameBytesMax) {
    return absl::InvalidArgumentError("a version or a nonce of more than 1 KiB");
  }
  return XdsResponse{.version = sent.version_info(),
                     .nonce = sent.nonce(),
                     .rules = ReadResources(sent.type_url(), parts->resources)};
}

}  // namespace weir
