// The bytes of the live page's files, from the sources that cmake/embed.cmake makes.
#pragma once

#include <string_view>

namespace weir {

extern const std::string_view kIndexHtml;
extern const std::string_view kAppCss;
extern const std::string_view kAppJs;
extern const std::string_view kDygraphCss;
extern const std::string_view kDygraphJs;

}  // namespace weir
