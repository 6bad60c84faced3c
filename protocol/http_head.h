// The head of an HTTP request, and the rules by which its target and fields say where the request
// goes, how long its body is, and whether the connection stays open.
//
// These rules are the ones on which two programs that a request passes through must agree, or one
// of them takes a part of a body for a request (request smuggling). So each of them refuses what
// can be read in two ways; http_request.h lists the errors. The grammar of lines is checked before.
//
// Pure. Tests: http_smuggling_test.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace weir {

struct HttpField {
  std::string_view name;   // as spelled; compared without regard to case
  std::string_view value;  // without blanks around it; tabs and bytes from 0x80 may be in it
};

struct HttpHead {
  std::string_view method;            // any token but CONNECT; methods are case sensitive
  std::string_view target;            // as sent
  int minor_version = 1;              // of HTTP/1.x: 0 or 1
  std::span<const HttpField> fields;  // in their order

  // What follows from these: set by ReadHead.
  std::string_view path;   // of the target, not decoded; see http_target.h
  std::string_view query;  // of the target, not decoded
  std::string_view host;   // of the target if it has one, else of Host; may be empty
  std::optional<std::uint64_t> content_length;
  bool chunked = false;
  bool keep_alive = false;
  bool expects_continue = false;

  // The value of the first field of this name, in any case; nothing if there is none.
  [[nodiscard]] std::optional<std::string_view> Field(std::string_view name) const noexcept;
  // True if each field of this name has this value; so, too, if there is none.
  [[nodiscard]] bool AllAre(std::string_view name, std::string_view value) const noexcept;
};

struct HttpError {
  int status = 0;         // to answer, before the connection is closed
  std::string_view what;  // a few words of our own: "bare LF"
};

// Checks a request line, without its line end, as far as its version goes: 505 for a version that
// we do not speak, 400 for what is no version.
[[nodiscard]] std::optional<HttpError> CheckVersion(std::string_view line) noexcept;

// Sets the rest of a head that has its method, target, version and fields.
[[nodiscard]] std::optional<HttpError> ReadHead(HttpHead& head);

}  // namespace weir
