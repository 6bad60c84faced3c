// GET / and the files that it loads: the live page, which reads /api.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

#include "core/base/check.h"
#include "core/base/status.h"
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

// Whether a client reads gzip, by the value of its field Accept-Encoding: "gzip, deflate;q=0.5".
bool ReadsGzip(std::string_view accepted) {
  for (const absl::string_view coding : absl::StrSplit(AbslView(accepted), ',')) {
    const std::vector<absl::string_view> words = absl::StrSplit(coding, ';');
    if (!absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(words[0]), "gzip")) continue;
    return std::none_of(words.begin() + 1, words.end(), [](absl::string_view word) {
      const std::string quality = absl::AsciiStrToLower(absl::StripAsciiWhitespace(word));
      return quality.starts_with("q=") && quality.find_first_not_of("q=0. ") == std::string::npos;
    });
  }
  return false;
}

}  // namespace

void PageFile(HttpExchange& exchange) {
  const auto file = std::ranges::find(kPageFiles, exchange.head().path, &PageBytes::path);
  if (file == kPageFiles.end()) return exchange.Fail(404, kNoSuchPath);
  const bool packed = ReadsGzip(exchange.head().Field("Accept-Encoding").value_or(""));
  const std::string_view body = packed ? file->gzip : file->bytes;
  exchange.session().work().Charge(body.size() / kFileBytesPerUnit);
  HttpWriter& writer = exchange.Begin(200);
  writer.Field("Content-Type", TypeOf(file->path));
  writer.Field("Vary", "Accept-Encoding");
  if (packed) writer.Field("Content-Encoding", "gzip");
  exchange.End(body);
}

}  // namespace weir
