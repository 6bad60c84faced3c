#include "weir/errors.h"

namespace weir {

Unavailable::Unavailable(std::string_view why, const std::string& text)
    : std::runtime_error("weir is unavailable (" + std::string(why) + ")" +
                         (text.empty() ? "" : ": " + text)),
      cause(why) {}

}  // namespace weir
