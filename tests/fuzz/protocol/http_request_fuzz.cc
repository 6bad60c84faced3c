// Property: for any bytes, cut anywhere, the parser of HTTP gives the same requests and the same
// error as for the bytes in one piece, and keeps its promises (which http_transcript.h checks at
// each result). A request that it finds has one meaning: it is written out in a plain form, and
// read again as the same request.
//
// The first byte of an input chooses how bodies are read, the second byte the sizes of the pieces.
// Both may be digits, so that the files of the corpus are readable.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include "protocol/http_request.h"
#include "protocol/http_target.h"
#include "tests/protocol/http_transcript.h"
#include "tests/protocol/pieces.h"

namespace weir {
namespace {

// Real bounds, and tight ones, which short inputs reach.
constexpr BodyChoice kChoices[] = {
    {.keep = true, .bytes_max = kHttpBodyBytesMax},
    {.keep = false, .bytes_max = kHttpDroppedBodyBytesMax},
    {.keep = true, .bytes_max = 8},
    {.keep = false, .bytes_max = 8},
};

void ExpectEqual(const HttpTranscript& actual, const HttpTranscript& expected,
                 std::string_view what) {
  if (actual == expected) return;
  std::cerr << what << "\n  gave     " << actual << "\n  expected " << expected << "\n";
  std::abort();
}

// The request in a plain form: fields as "name: value", a body in one chunk.
std::string PlainForm(const HttpHead& head, std::string_view body) {
  std::string text = std::string(head.method) + " " + std::string(head.target) + " HTTP/1." +
                     std::to_string(head.minor_version) + "\r\n";
  for (const HttpField& field : head.fields) {
    text.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  text += "\r\n";
  if (!head.chunked) return text.append(body);
  if (!body.empty()) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string size;
    for (std::size_t left = body.size(); left > 0; left /= 16) {
      size.insert(size.begin(), kDigits[left % 16]);
    }
    text.append(size).append("\r\n").append(body).append("\r\n");
  }
  return text + "0\r\n\r\n";
}

// Writes each request of `bytes` in its plain form, and reads it again.
void CheckPlainForms(std::string_view bytes) {
  HttpRequestParser parser;
  for (;;) {
    const HttpResult result = parser.Parse(bytes);
    bytes.remove_prefix(parser.consumed());
    if (result == HttpResult::kHead) {
      parser.KeepBody(kHttpBodyBytesMax);
    } else if (result == HttpResult::kRequest) {
      const std::string plain = PlainForm(parser.head(), parser.body());
      if (plain.size() > kHttpHeadBytesMax) continue;  // The blanks may make the head too long.
      ExpectEqual(ParseHttp(plain),
                  {.requests = {TextOf(parser.head(), parser.body())},
                   .ending = std::string(kHttpNeedsMore),
                   .consumed = plain.size()},
                  "the plain form");
      std::string decoded;
      for (QueryReader parameters(parser.head().query); parameters.Next();) {
        decoded.clear();
        const bool ok = AppendDecoded(parameters.value(), PlusMeans::kBlank, decoded);
        if (decoded.size() > parameters.value().size() ||
            (ok && decoded.empty() && !parameters.value().empty())) {
          std::abort();
        }
      }
    } else {
      return;
    }
  }
}

void FuzzOne(std::string_view input) {
  if (input.size() < 2) return;
  const BodyChoice& choice = kChoices[static_cast<std::uint8_t>(input[0]) % std::size(kChoices)];
  const std::string_view bytes = input.substr(2);
  const Cuts cuts = SeededCuts(bytes.size(), static_cast<std::uint8_t>(input[1]));
  ExpectEqual(ParseHttpInPieces(bytes, cuts, choice), ParseHttp(bytes, choice), "the pieces");
  CheckPlainForms(bytes);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
