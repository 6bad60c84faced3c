// Property: for any bytes behind the preface, cut anywhere, an Http2Session keeps its bounds, and
// says to the client the same as for the bytes in one piece.
//
// The first byte of an input chooses the sizes of the pieces. The session answers each request at
// its end, and drops the body of every third one.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http2/grpc_message.h"
#include "http2/http2_session.h"
#include "http2/preface.h"
#include "tests/protocol/pieces.h"

namespace weir {
namespace {

constexpr HostInstant kNow{std::chrono::hours(1)};
// What all that a session keeps may take: its streams, a window of bodies, and what is its own.
constexpr std::size_t kHeldMax = 16 * 1024 * 1024;

class Server : public Http2Receiver {
 public:
  void OnProgress(Http2Stream& stream) override {
    if (stream.id % 3 == 0) http2_.DropBody(stream);
    if (!stream.is_complete || stream.is_answered) return;
    if (LookAtGrpcBody(stream.body) == GrpcBody::kMessage) message_ = GrpcMessageOf(stream.body);
    constexpr Http2Field kFields[] = {{":status", "200"}};
    constexpr Http2Field kTrailers[] = {{"grpc-status", "0"}};
    http2_.Begin(stream, kFields);
    http2_.Write(stream, message_);
    http2_.End(stream, kTrailers);
  }

  void Read(std::string_view bytes) {
    while (!bytes.empty()) {
      const Http2FrameWatch::Read read = http2_.Receive(bytes, kNow, 8);
      if (read.bytes == 0 || http2_.held_bytes() > kHeldMax) std::abort();
      bytes.remove_prefix(read.bytes);
    }
  }

  std::string Output() {
    std::string out;
    http2_.Flush(out);
    return out;
  }

 private:
  std::string message_;
  Http2Session http2_{*this};
};

void FuzzOne(std::string_view input) {
  if (input.empty()) return;
  const std::string bytes = std::string(kHttp2Preface).append(input.substr(1));
  Server whole;
  whole.Read(bytes);
  Server cut;
  std::size_t begin = 0;
  for (const std::size_t end : SeededCuts(bytes.size(), static_cast<std::uint8_t>(input[0]))) {
    cut.Read(std::string_view(bytes).substr(begin, end - begin));
    begin = end;
  }
  cut.Read(std::string_view(bytes).substr(begin));
  if (whole.Output() != cut.Output()) std::abort();
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
