#include "weir/limited.h"

#include <utility>

namespace weir {

Limited::Limited(std::string of, Decision denial)
    : std::runtime_error("'" + of + "' is limited (" + std::string(ToString(denial.reason)) + ")"),
      key(std::move(of)),
      retry_after(denial.retry_after),
      decision(std::move(denial)) {}

}  // namespace weir
