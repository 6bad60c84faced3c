// The reader of the live page's bodies that name limits.
//
//     limits     = {"limits": [limit, ...]}                                   1 to kChecksMax words
//     simulation = {"limits": [limit, ...], "arrivals_ms": [n, ...], "cost": n}
//
// The arrivals are whole milliseconds in ascending order, 1 to kArrivalsMax of them, counted from
// the begin of the simulation, and at most kArrivalMsMax. The cost is 1 by default.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "server/json/field_reader.h"

namespace weir {

inline constexpr std::size_t kArrivalsMax = 10'000;
inline constexpr std::int64_t kArrivalMsMax = std::int64_t{366} * 24 * 3600 * 1000;

class LimitsBody final : private FieldReader {
 public:
  LimitsBody();

  // Read a body, once. Fail with kInvalidArgument and a text that says what is expected.
  [[nodiscard]] absl::Status ReadLimits(std::string_view body);
  [[nodiscard]] absl::Status ReadSimulation(std::string_view body);

  // Views that last as long as this object, which must not move.
  [[nodiscard]] std::span<const std::string_view> limits() const noexcept { return limit_views_; }
  [[nodiscard]] std::span<const std::int64_t> arrivals_ms() const noexcept { return arrivals_ms_; }
  [[nodiscard]] std::int64_t cost() const noexcept { return cost_; }

 private:
  bool IsKnown(std::size_t field) const override;
  absl::Status Store(std::size_t field, const JsonValue& value) override;
  absl::Status NoObject() override;

  bool simulates_ = false;
  std::vector<std::string> limits_;
  std::vector<std::string_view> limit_views_;
  std::vector<std::int64_t> arrivals_ms_;
  std::int64_t cost_ = 1;
};

}  // namespace weir
