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

struct Type {
  std::string_view ending;  // of the path
  std::string_view name;
};

constexpr auto kTypes = std::to_array<Type>({
    {"/", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
});

constexpr std::size_t kFileBytesPerUnit = 16 * 1024;  // copied in about a microsecond

std::string_view TypeOf(std::string_view path) {
  const auto* const type =
      std::ranges::find_if(kTypes, [path](const Type& one) { return path.ends_with(one.ending); });
  WEIR_CHECK(type != kTypes.end());
  return type->name;
}

}  // namespace

void PageFile(HttpExchange& exchange) {
  const auto file = std::ranges::find(kPageFiles, exchange.head().path, &PageBytes::path);
  if (file == kPageFiles.end()) return exchange.Fail(404, kNoSuchPath);
  exchange.session().Charge(file->bytes.size() / kFileBytesPerUnit);
  exchange.Answer(200, TypeOf(file->path), file->bytes);
}

}  // namespace weir
