#include "rls/answer_metadata.h"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "core/base/utf8.h"
#include "rls/units.h"

namespace weir {
namespace {

Metadata Text(std::string text) { return {.value = std::move(text)}; }

template <typename T>
Metadata Number(T number) {
  return {.value = static_cast<double>(number)};
}

// As protobuf for Go writes it, which leaves out what has its default.
std::string TextOfLimit(const CallLimit& limit) {
  std::string text;
  if (limit.requests_per_unit != 0) {
    absl::StrAppend(&text, "requests_per_unit:", limit.requests_per_unit, " ");
  }
  absl::StrAppend(&text, "unit:", AbslView(UnitName(limit.unit)));
  if (limit.unit_multiplier != 1) {
    absl::StrAppend(&text, " unit_multiplier:{value:", limit.unit_multiplier, "}");
  }
  return text;
}

std::int64_t Milliseconds(Nanos span) {
  return span == kNever ? -1 : std::chrono::ceil<std::chrono::milliseconds>(span).count();
}

Metadata AskedAndSaid(const CallDescriptor& asked, const DescriptorStatus& said) {
  Metadata::List entries;
  for (const auto& [key, value] : asked.entries) {
    entries.push_back(Text(AsUtf8(absl::StrCat(AbslView(key), "=", AbslView(value)))));
  }
  Metadata::Map fields = {{"entries", {std::move(entries)}}};
  if (asked.limit) fields.push_back({"limit", Text(TextOfLimit(*asked.limit))});
  if (asked.hits) fields.push_back({"hitsAddend", Number(*asked.hits)});
  fields.push_back({"code", Text(said.is_over ? "OVER_LIMIT" : "OK")});
  if (said.limit && !said.limit->name.empty()) {
    fields.push_back({"limitName", Text(std::string(said.limit->name))});
  }
  if (said.retry_after) {
    fields.push_back({"retryAfterMs", Number(Milliseconds(*said.retry_after))});
  }
  return {.value = std::move(fields)};
}

void Merge(const Metadata::Map& from, Metadata::Map& into) {
  absl::flat_hash_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < into.size(); ++i) places.emplace(into[i].key, i);
  for (const Metadata::Field& field : from) {
    const auto [place, is_new] = places.try_emplace(field.key, into.size());
    if (is_new) {
      into.push_back(field);
      continue;
    }
    const auto* const below = std::get_if<Metadata::Map>(&field.metadata.value);
    auto* const present = std::get_if<Metadata::Map>(&into[place->second].metadata.value);
    if (below != nullptr && present != nullptr) Merge(*below, *present);
  }
}

// True for a rule that decides a descriptor, or that exempts it.
bool Counts(const MatchedDescriptor& descriptor) {
  using Answer = MatchedDescriptor::Answer;
  if (descriptor.rule == nullptr) return false;
  return descriptor.answer == Answer::kPart ||
         (descriptor.answer == Answer::kNoLimit && !descriptor.rule->limit);
}

}  // namespace

Metadata::Map MetadataOf(const RateLimitCall& call, const MatchedCall& matched,
                         const RateLimitAnswer& answer) {
  Metadata::List descriptors;
  Metadata::Map of_rules;
  for (std::size_t i = 0; i < answer.statuses.size(); ++i) {
    descriptors.push_back(AskedAndSaid(call.descriptors()[i], answer.statuses[i]));
    const MatchedDescriptor& descriptor = matched.descriptors()[i];
    if (Counts(descriptor) && !answer.statuses[i].is_over) {
      Merge(descriptor.rule->metadata, of_rules);
    }
  }
  Metadata::Map metadata = {{"domain", Text(AsUtf8(call.domain()))},
                            {"descriptors", {std::move(descriptors)}}};
  if (call.hits() != 0) metadata.push_back({"hitsAddend", Number(call.hits())});
  if (!of_rules.empty()) metadata.push_back({"metadata", {std::move(of_rules)}});
  return metadata;
}

}  // namespace weir
