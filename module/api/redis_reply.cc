#include "module/api/redis_reply.h"

#include <algorithm>

namespace weir {
namespace {

// The same bound as the server's (protocol/resp_writer.h).
constexpr std::size_t kErrorBytesMax = 512;

}  // namespace

void RedisReply::Error(std::string text) {
  text.resize(std::min(text.size(), kErrorBytesMax));
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  std::ranges::replace_if(text, is_control, ' ');
  redis::ReplyWithError(context_, text.c_str());
}

}  // namespace weir
