// Closes a connection so that the peer gets all that was written to it.
//
// A close() while bytes of the peer's are unread, or still on their way, makes the kernel answer
// them with a reset, and that destroys what the peer has not read yet: just the error that says why
// it is closed. So we say that we send no more, and then read and throw away until the peer closes
// too; at most kLingerBytesMax bytes and for kLingerTime.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>

#include "server/net/stream_socket.h"

namespace weir {

inline constexpr std::size_t kLingerBytesMax = 16 * 1024 * 1024;
inline constexpr std::chrono::seconds kLingerTime{1};

// Takes the socket, which must be non-blocking and have nothing outstanding, and returns at once.
// `scratch` is written to by the thread of the socket's executor, and outlives it; `owner` is let
// go when the socket is closed. Call it on the thread of the socket's executor.
void CloseLingering(StreamSocket socket, std::span<char> scratch,
                    std::shared_ptr<const void> owner);

}  // namespace weir
