// A request of RL.ALLOW as an edge reads it: which forms it is about, and how many units of each.
//
//     RL.ALLOW tenant:7 1000/s COST 3 AND user:1 @free WITHLIMITS
//              ^ a group: a form, 3 units of it
//
// A form is a key with the words of its limits. A unit is what RL.SLICE takes for them without
// COST, so COST n is n units where every limit costs what COST says. A limit may have a cost of its
// own, and so may those of a policy, which an edge does not know. There COST belongs to the form,
// and a request is one unit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"

namespace weir {

// Of a form, as they go to the primary.
inline constexpr std::size_t kFormBytesMax = 1024;

struct EdgeGroup {
  std::span<const std::string_view> words;  // the key and its limits
  std::string_view cost;                    // the number of COST, if it belongs to the form
  std::int64_t units = 1;                   // 1 .. kUnitsMax
  bool may_be_sliced = true;                // No limit is written with ban= or shadow.
};

struct EdgeRequest {
  absl::InlinedVector<EdgeGroup, 1> groups;  // at least one
  bool with_limits = false;
};

// Reads the words behind RL.ALLOW. Nothing if only the primary decides such a request, or says what
// is wrong with it: one with OR, AT, COST 0, or a form of more than kFormBytesMax. The result views
// the words.
[[nodiscard]] std::optional<EdgeRequest> ReadEdgeRequest(std::span<const std::string_view> words);

// Puts the form of a group into one text: equal texts, equal forms.
void WriteFormText(const EdgeGroup& group, std::string& text);
// The words of such a text, as RL.SLICE has them behind its name. They view it.
[[nodiscard]] std::vector<std::string_view> WordsOfForm(std::string_view text);

}  // namespace weir
