#include "weir/decision.h"

namespace weir {

std::string_view ToString(Reason reason) {
  switch (reason) {
    case Reason::kAllowed:
      return "allowed";
    case Reason::kDenied:
      return "denied";
    case Reason::kNever:
      return "never";
    case Reason::kUnavailable:
      return "unavailable";
  }
  return "";
}

}  // namespace weir
