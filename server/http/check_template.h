// A template: a text with variables, which the request of a user fills.
//
//     template = *( literal | "{" variable *("|" filter) "}" )
//     variable = "ip" | "method" | "host"
//              | "path"                   the same for all spellings of a path
//              | "path:" number           a segment of it: 1 is "v1" of /v1/users
//              | "header:" field | "query:" parameter | "cookie:" name
//     filter   = "raw"                    of a path: as it was sent
//              | "lower"                  ASCII letters in lower case
//              | "hash"                   22 characters of a keyed hash: for secrets, because
//                                         operators see keys
//
// "ip:{ip}", "tenant:{header:x-tenant|lower}", "{cookie:session|hash}". A literal has no braces.
// The field Authorization is refused: it belongs to the user.
//
// proxied_request.h has the meaning of the variables. A template is parsed once and then constant,
// so all threads may fill it. Cost: O(template and values); filling allocates nothing but room in
// the caller's strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "core/table/key_hash.h"
#include "server/http/proxied_request.h"

namespace weir {

// A longer value is cut, after its filters.
inline constexpr std::size_t kTemplateValueBytesMax = 1024;
inline constexpr std::size_t kTemplateVariablesMax = 16;
inline constexpr int kPathSegmentMax = 32;

class CheckTemplate {
 public:
  // Fails with kInvalidArgument and a text that says what is wrong, and what would be right.
  [[nodiscard]] static absl::StatusOr<CheckTemplate> Parse(std::string_view text);

  // True if it has no variable: then every request fills it with text().
  [[nodiscard]] bool is_constant() const noexcept { return parts_.empty(); }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  // Appends the text with its variables filled. Returns false if a variable has no value; `out`
  // then has the beginning.
  [[nodiscard]] bool Fill(const ProxiedRequest& request, const KeyHasher& hasher,
                          std::string& out) const;

  // Names the first variable without a value, and what the request lacks: "{ip}: the request had
  // no X-Forwarded-For". Requires: Fill() has returned false for this request.
  [[nodiscard]] std::string MissingIn(const ProxiedRequest& request) const;

 private:
  enum class Variable : std::uint8_t {
    kIp,
    kMethod,
    kHost,
    kPath,
    kSegment,
    kHeader,
    kQuery,
    kCookie
  };
  struct Part {
    std::string literal;  // before the variable
    std::string source;   // "header:x-tenant"
    Variable variable{};
    std::string name;  // of a header, a parameter or a cookie
    int segment = 0;
    bool raw = false;
    bool lower = false;
    bool hash = false;
  };

  [[nodiscard]] static absl::StatusOr<Part> ParseVariable(std::string_view text);
  [[nodiscard]] static absl::Status ParseSource(std::string_view text, Part& part);
  // What a request without the value of `part` lacks.
  [[nodiscard]] static std::string LackOf(const Part& part, const ProxiedRequest& request);
  [[nodiscard]] static ProxiedRequest::Value ValueOf(const Part& part,
                                                     const ProxiedRequest& request,
                                                     std::string& scratch);

  std::string text_;
  std::vector<Part> parts_;
  std::string end_;  // the literal behind the last variable
};

}  // namespace weir
