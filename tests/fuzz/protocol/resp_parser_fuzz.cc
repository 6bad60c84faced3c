// Property: for any bytes, cut anywhere, the parser gives the same results as for the bytes in one
// piece, and as the naive parser, and stays within its caps (which resp_transcript.h checks at each
// result).
//
// The first byte of an input chooses the caps, the second byte the sizes of the pieces. Both may be
// digits, so that the files of the corpus are readable.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string_view>

#include "protocol/resp_parser.h"
#include "tests/protocol/naive_resp_parser.h"
#include "tests/protocol/pieces.h"
#include "tests/protocol/resp_transcript.h"

namespace weir {
namespace {

// Real caps and tight ones: with tight caps, short inputs reach cases that otherwise need 64 KiB.
constexpr RespCaps kCaps[] = {
    kRespCaps,
    kRespCapsBeforeAuth,
    {.line_bytes_max = 16,
     .args_max = 3,
     .arg_bytes_max = 16,
     .request_bytes_max = 48,
     .authenticated = true},
    {.line_bytes_max = 4,
     .args_max = 2,
     .arg_bytes_max = 4,
     .request_bytes_max = 12,
     .authenticated = false},
};

void ExpectEqual(const Transcript& actual, const Transcript& expected, std::string_view what) {
  if (actual == expected) return;
  std::cerr << what << "\n  gave     " << actual << "\n  expected " << expected << "\n";
  std::abort();
}

void FuzzOne(std::string_view input) {
  if (input.size() < 2) return;
  const RespCaps& caps = kCaps[static_cast<std::uint8_t>(input[0]) % std::size(kCaps)];
  const std::string_view bytes = input.substr(2);
  const Transcript whole = ParseWhole(caps, bytes);
  ExpectEqual(whole, ParseNaively(caps, bytes), "the whole");
  const Cuts cuts = SeededCuts(bytes.size(), static_cast<std::uint8_t>(input[1]));
  ExpectEqual(ParseInPieces(caps, bytes, cuts), whole, "the pieces");
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
