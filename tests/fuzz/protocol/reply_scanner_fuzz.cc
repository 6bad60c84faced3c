// Property: for any bytes of a server, cut anywhere, the ends of its replies are those of the bytes
// in one piece, and each reply can be read and written as RESP2.
//
// The first byte of an input chooses the sizes of the pieces.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "protocol/reply_scanner.h"

namespace weir {
namespace {

// The ends of the replies in the bytes, which come so many at a time, and -1 behind them if what
// follows is no reply.
std::vector<std::ptrdiff_t> EndsOf(std::string_view bytes, std::size_t at_once) {
  std::vector<std::ptrdiff_t> ends;
  ReplyScanner scanner;
  std::size_t begin = 0;
  for (std::size_t come = 0; come < bytes.size();) {
    come = come + at_once < bytes.size() ? come + at_once : bytes.size();
    while (begin < come) {
      const std::string_view unread = bytes.substr(begin, come - begin);
      const ReplyScanner::Result result = scanner.Scan(unread);
      if (result == ReplyScanner::Result::kNeedMore) break;
      if (result == ReplyScanner::Result::kStrange) {
        ends.push_back(-1);
        return ends;
      }
      WEIR_CHECK(scanner.size() > 0 && scanner.size() <= unread.size());
      begin += scanner.size();
      ends.push_back(static_cast<std::ptrdiff_t>(begin));
    }
  }
  return ends;
}

void FuzzOne(std::string_view input) {
  if (input.empty()) return;
  const std::string_view bytes = input.substr(1);
  const std::vector<std::ptrdiff_t> ends = EndsOf(bytes, bytes.size());
  WEIR_CHECK(EndsOf(bytes, 1 + static_cast<std::uint8_t>(input.front())) == ends);
  std::size_t begin = 0;
  for (const std::ptrdiff_t end : ends) {
    if (end < 0) break;
    const std::string_view reply = bytes.substr(begin, static_cast<std::size_t>(end) - begin);
    static_cast<void>(ReadReply(reply));
    std::string as_resp2;
    AppendAsResp2(reply, as_resp2);
    WEIR_CHECK(EndsOf(as_resp2, as_resp2.size()) ==
               std::vector<std::ptrdiff_t>{static_cast<std::ptrdiff_t>(as_resp2.size())});
    begin = static_cast<std::size_t>(end);
  }
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
