// A reply in RESP2 as JSON, in the form of Upstash's REST API.
//
//     RESP2             JSON
//     "-" text          {"error":text}
//     any other         {"result":value}, where value is
//     "+" text          a string
//     ":" number        a number; it may have more digits than a double
//     "$" bytes         a string, null without bytes
//     "*" values        an array, null without values
//
// A string has U+FFFD in the place of bytes that are not UTF-8, unless the client wants base64.
// Pure. Cost: O(reply).
#pragma once

#include <string>
#include <string_view>

namespace weir {

enum class JsonBytes {
  kText,
  kBase64,  // all strings but "OK" in base64, as "Upstash-Encoding: base64" asks for
};

// Appends the reply. Requires: one reply as RespWriter writes it, or none, which is null.
void AppendJsonReply(std::string_view reply, JsonBytes bytes, std::string& out);

}  // namespace weir
