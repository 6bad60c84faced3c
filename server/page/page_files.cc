// GET / and the files that it loads: the live page, which reads /api.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "core/base/check.h"
#include "server/http/http_exchange.h"
#include "server/http/http_route.h"
#include "server/page/page_bytes.h"

namespace weir {
namespace {

struct File {
  std::string_view path;
  std::string_view type;
  const std::string_view* bytes;
};

constexpr std::string_view kCss = "text/css; charset=utf-8";
constexpr std::string_view kScript = "text/javascript; charset=utf-8";

constexpr auto kFiles = std::to_array<File>({
    {"/", "text/html; charset=utf-8", &kIndexHtml},
    {"/app.css", kCss, &kAppCss},
    {"/app.js", kScript, &kAppJs},
    {"/dygraph.css", kCss, &kDygraphCss},
    {"/dygraph.js", kScript, &kDygraphJs},
});

constexpr std::size_t kFileBytesPerUnit = 16 * 1024;  // copied in about a microsecond

}  // namespace

void PageFile(HttpExchange& exchange) {
  const auto* const file = std::ranges::find(kFiles, exchange.head().path, &File::path);
  WEIR_CHECK(file != kFiles.end());  // else it is no route
  exchange.session().Charge(file->bytes->size() / kFileBytesPerUnit);
  exchange.Answer(200, file->type, *file->bytes);
}

}  // namespace weir
