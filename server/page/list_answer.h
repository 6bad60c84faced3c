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

#include "absl/functional/any_invocable.h"

#include "protocol/json_writer.h"

namespace weir {

class HttpExchange;

struct ListAnswer {
  std::string json;      // the begin of the answer, up to the bracket that opens the list
  std::size_t all = 0;   // members, as the answer begins
  std::size_t most = 0;  // members to show
  // Appends the next member; returns false, with nothing appended, if none is left.
  absl::AnyInvocable<bool(JsonWriter json)> append_next;

  std::size_t shown = 0;
};

// Writes the members that are left, as far as this turn goes, and the rest in later turns; then
// answers.
void WriteList(std::unique_ptr<ListAnswer> list, HttpExchange& exchange);

}  // namespace weir
