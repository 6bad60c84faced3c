#include "server/config/version.h"

namespace weir {

// CMakeLists.txt defines both macros for this file only, so that a new version compiles one file.
constinit const std::string_view kVersion = WEIR_VERSION;
constinit const std::string_view kVersionDate = WEIR_VERSION_DATE;

}  // namespace weir
