// An answer of the live page that ends with a list, in JSON, which is written in as many turns as
// it needs:
//
//     {..., "policies":[{...},{...}],"more":0}
//
// The list ends after `most` members, or with the one that reaches kJsonResultsBytesMax; "more" is
// the number of those that are left out.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/functional/any_invocable.h"

namespace weir {

class HttpExchange;

struct ListAnswer {
  std::string json;      // the begin of the answer, up to the bracket that opens the list
  std::size_t all = 0;   // members, as the answer begins
  std::size_t most = 0;  // members to show
  // Appends `open` ("{" or ",{") and the next member up to its closing brace; returns false, with
  // nothing appended, if there is none left.
  absl::AnyInvocable<bool(std::string_view open, std::string& out)> append_next;

  std::size_t shown = 0;
};

// Writes the members that are left, as far as this turn goes, and the rest in later turns; then
// answers.
void WriteList(std::unique_ptr<ListAnswer> list, HttpExchange& exchange);

}  // namespace weir
