// The numbers of the server, each a row. INFO, /metrics and /api/now are printed from the rows, and
// so are the lists in docs/observing.md and docs/metrics.md.
//
//     Measure({"buckets", "weir_buckets", "buckets"}, "Buckets in memory.",
//             [](auto& s) { return s.Size().buckets; }),
//
// INFO has the order of the rows. The two others have orders of their own, in metrics.cc and
// api_numbers.cc, where the families with labels and the nested objects are, too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/instant.h"

namespace weir {

class ServerSnapshot;

// Several fields of INFO: the end of each name, and the value.
using MeasureFields = std::vector<std::pair<std::string, std::string>>;

// What a row reads. Unknown (monostate) is -1 in INFO, no sample in /metrics, and null in /api/now.
// A time is in seconds in /metrics, and elsewhere in milliseconds, rounded up.
using MeasureValue =
    std::variant<std::monostate, bool, std::int64_t, Nanos, std::string, MeasureFields>;

// From one of these types, another integer, a text, or an optional of them.
template <typename Value>
[[nodiscard]] MeasureValue ToMeasureValue(const Value& value) {
  if constexpr (std::is_same_v<Value, bool> || std::is_same_v<Value, MeasureFields>) {
    return value;
  } else if constexpr (std::is_integral_v<Value>) {
    return static_cast<std::int64_t>(value);
  } else if constexpr (std::is_convertible_v<Value, Nanos>) {
    return Nanos(value);
  } else if constexpr (std::is_convertible_v<Value, std::string_view>) {
    return std::string(std::string_view(value));
  } else {
    return value ? ToMeasureValue(*value) : MeasureValue();
  }
}

// The names of a number; empty where it is not shown.
struct MeasureNames {
  std::string_view info;         // in INFO: "holds_expired"
  std::string_view metric = {};  // in /metrics: "weir_saves_total"; a counter ends in _total
  std::string_view json = {};    // in /api/now: "uptime_s", "replication.term"
};

// The sentence of a field that Redis documents.
inline constexpr std::string_view kAsInRedis = "As in Redis.";

struct Measure {
  using Condition = bool (*)(ServerSnapshot& s);

  // `Read` is a lambda without captures.
  template <typename Read>
  constexpr Measure(MeasureNames its_names, Condition exists_if, std::string_view sentence,
                    Read /*reads*/)
      : names(its_names),
        condition(exists_if),
        help(sentence),
        read([](ServerSnapshot& s) { return ToMeasureValue(Read{}(s)); }) {}
  template <typename Read>
  constexpr Measure(MeasureNames its_names, std::string_view sentence, Read reads)
      : Measure(its_names, nullptr, sentence, reads) {}
  template <typename Read>
  constexpr Measure(MeasureNames its_names, Condition exists_if, Read reads)
      : Measure(its_names, exists_if, kAsInRedis, reads) {}
  template <typename Read>
  constexpr Measure(MeasureNames its_names, Read reads) : Measure(its_names, nullptr, reads) {}
  // The beginning of a section of INFO.
  constexpr explicit Measure(std::string_view title, Condition exists_if = nullptr)
      : section(title), condition(exists_if) {}

  [[nodiscard]] bool Exists(ServerSnapshot& s) const { return !condition || condition(s); }

  std::string_view section = {};  // not empty: no number, but the title of those that follow
  MeasureNames names{};
  Condition condition = nullptr;  // null: it always exists
  std::string_view help = {};     // the line HELP of /metrics
  MeasureValue (*read)(ServerSnapshot& s) = nullptr;
};

[[nodiscard]] std::span<const Measure> Measures();

// The row whose name in a face is this: FindMeasure(&MeasureNames::metric, "weir_buckets").
// Requires: there is one. Cost: about 0.2 us.
[[nodiscard]] const Measure& FindMeasure(std::string_view MeasureNames::*face,
                                         std::string_view name);

}  // namespace weir
