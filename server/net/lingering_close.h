// Closes a connection so that the peer receives everything that was written to it.
//
// If bytes of the peer are unread or still on their way when a socket is closed, the kernel answers
// them with a reset. The reset destroys what the peer has not read yet, which is often the error
// that says why it is closed. So the server shuts down its own direction, then reads and discards
// until the peer closes too: at most kLingerBytesMax bytes, for at most kLingerTime.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>

#include "server/net/stream_socket.h"

namespace weir {

inline constexpr std::size_t kLingerBytesMax = 16 * 1024 * 1024;
inline constexpr std::chrono::seconds kLingerTime{1};

// Takes over the socket and returns at once. Call it on the thread of the socket's executor.
// `scratch` is overwritten by that thread and must outlive the socket; `owner` is released when the
// socket is closed. Requires: the socket is non-blocking and has no operation outstanding.
void CloseLingering(StreamSocket socket, std::span<char> scratch,
                    std::shared_ptr<const void> owner);

}  // namespace weir
