// Metadata as a line of text, for tests: {list=[1;null;];text="x";}
#pragma once

#include <string>
#include <variant>

#include "absl/strings/str_cat.h"

#include "rls/rule.h"

namespace weir {

inline std::string TextOf(const Metadata& metadata) {
  struct Writer {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool truth) const { return truth ? "true" : "false"; }
    std::string operator()(double number) const { return absl::StrCat(number); }
    std::string operator()(const std::string& text) const { return "\"" + text + "\""; }
    std::string operator()(const Metadata::List& list) const {
      std::string text = "[";
      for (const Metadata& element : list) absl::StrAppend(&text, TextOf(element), ";");
      return text + "]";
    }
    std::string operator()(const Metadata::Map& map) const {
      std::string text = "{";
      for (const auto& [key, value] : map) absl::StrAppend(&text, key, "=", TextOf(value), ";");
      return text + "}";
    }
  };
  return std::visit(Writer(), metadata.value);
}

}  // namespace weir
