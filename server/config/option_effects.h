// The options that have no effect beside the others, such as backup-dir without data-dir. They are
// no error, since a file may be shared by servers of several kinds; the server logs a warning.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/config/options.h"

namespace weir {

// The row of an option that has an effect only beside others. It does not depend on an option that
// CONFIG SET or a command may change later.
struct OptionEffect {
  std::string_view name;  // of the option
  bool (*has_effect)(const Options& options);
  std::string_view needs;  // what is missing if it has none: "a data-dir"
};

// Sorted by name. Options without a row always have an effect.
[[nodiscard]] std::span<const OptionEffect> OptionEffects() noexcept;

// Returns a sentence for each option that differs from its fallback and has no effect.
[[nodiscard]] std::vector<std::string> OptionsWithoutEffect(const Options& options);

}  // namespace weir
