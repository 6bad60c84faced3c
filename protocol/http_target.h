// The target of an HTTP request, split into its parts; the parameters of its query; and the
// decoding of "%20".
//
//     target   = path ["?" query]                       origin form: "/check/api?key=user:42"
//              | "*"                                    asterisk form, for OPTIONS
//              | scheme "://" host [path] ["?" query]   absolute form, as a proxy is asked
//     scheme   = "http" | "https"                       in any case
//     host     = 1*( letter | digit | one of -._~!$&'()*+,;=:%[] )
//     query    = [parameter] *("&" [parameter])
//     parameter = name ["=" value]
//
// A "#", and an "@" in the host, are refused. Other bytes are taken as they come: a path is not
// normalized ("//", "/./" and "%2F" stay), so a route is compared with what was sent;
// AppendNormalPath is for paths that users ask of other servers. The authority form ("host:443",
// for CONNECT) is no target here.
//
// Pure: the views point into the text that was given. Tests: http_target_test.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

struct HttpTarget {
  std::string_view path;   // "/" for an absolute form without a path; "*" for the asterisk form
  std::string_view query;  // behind the first "?", raw
  std::string_view host;   // of an absolute form, with its port; else empty
};

// The parts of a target, or nothing if it has none of the three forms.
[[nodiscard]] std::optional<HttpTarget> SplitTarget(std::string_view target) noexcept;

// True if `text` is a host, with or without a port, as the grammar above has it.
[[nodiscard]] bool IsHost(std::string_view text) noexcept;

// Appends the normal form of a path, which all its spellings share (RFC 3986, 6.2.2): escapes of
// letters, digits and -._~ become these bytes, other escapes get capital digits, and "." and ".."
// are resolved, but never above the root. Repeated slashes become one, as most servers take them.
// "%2F" is no slash, a slash at the end stays, and so does a "%" without two digits behind it. "*"
// is appended as it is. Cost: O(bytes).
void AppendNormalPath(std::string_view path, std::string& out);

// Reads the parameters of a query, in their order. Empty parameters ("a=1&&b=2") are skipped.
//
//     for (QueryReader parameters(head.query); parameters.Next();) {
//       if (parameters.name() == "key") ...
class QueryReader {
 public:
  explicit QueryReader(std::string_view query) noexcept : rest_(query) {}

  // Moves to the next parameter; false at the end.
  bool Next() noexcept;

  // The parameter, still encoded. The value of "a" is as empty as that of "a=".
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  [[nodiscard]] std::string_view value() const noexcept { return value_; }

 private:
  std::string_view rest_;
  std::string_view name_;
  std::string_view value_;
};

// The meaning of "+". HTML forms and most libraries write a blank of a query so; a path has no such
// rule.
enum class PlusMeans { kPlus, kBlank };

// Appends the bytes that `text` encodes to `out`. They may be any bytes, NUL too. Returns false
// for a "%" that two hexadecimal digits do not follow; `out` then has what comes before it.
[[nodiscard]] bool AppendDecoded(std::string_view text, PlusMeans plus, std::string& out);

}  // namespace weir
