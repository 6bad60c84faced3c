// A connected socket, either bare or with TLS on either side.
//
// It never blocks. It reads and writes as a non-blocking socket does: it returns the number of
// bytes moved, and asio::error::would_block means to wait. TLS differs from a bare socket in three
// ways, which this class hides:
//
//     a read may have to write, and a write to read            WaitToRead(), WaitToWrite()
//     it may buffer bytes that the socket has delivered, for
//     which the socket will not become readable again          WaitToRead()
//     it begins with a handshake, which the first reads do     is_handshaking()
//
// Cost: a read or a write of a bare socket tests one pointer more.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include "server/net/stream_socket.h"
#include "server/net/tls_context.h"

namespace weir {

class Transport {
 public:
  // Makes the socket non-blocking. With a `session`, this is that side of TLS; the client's side
  // speaks first, so it must not wait before its first read. Requires: the session was made for
  // this socket.
  explicit Transport(StreamSocket socket, TlsSession session = nullptr);

  [[nodiscard]] StreamSocket::executor_type executor() { return socket_.get_executor(); }

  // Returns the number of bytes read, or 0 and an error: would_block, eof, or the failure of the
  // connection.
  std::size_t Read(std::span<char> room, std::error_code& error);

  // Returns the number of bytes written, or 0 and an error. After would_block, the next write must
  // begin with the same bytes and be at least as long.
  std::size_t Write(std::string_view bytes, std::error_code& error);

  // Calls handler(error) when Read (Write) may make progress. At most one wait of each kind at a
  // time.
  template <typename Handler>
  void WaitToRead(Handler handler);
  template <typename Handler>
  void WaitToWrite(Handler handler);
  void CancelWaits();

  // The number of bytes that can be read now, or slightly more; 0 if there are none.
  [[nodiscard]] std::size_t Available();

  // True until the TLS handshake is complete; no data can have been read before.
  [[nodiscard]] bool is_handshaking() const noexcept { return session_ && !has_shaken_hands_; }
  // True if the peer has shown a certificate. One that its authority did not sign ends the
  // handshake.
  [[nodiscard]] bool has_certificate() const noexcept;
  // The reason of the last TLS failure: "http request"; empty: none.
  [[nodiscard]] const std::string& tls_failure() const noexcept { return tls_failure_; }

  // Moves the connection to another event loop. Cancels waits, whose handlers are called with an
  // error on the present one.
  void MoveTo(asio::io_context& context);

  // Ends TLS, if it is used, with a close_notify, and returns the socket.
  [[nodiscard]] StreamSocket ReleaseSocket();
  // Ends TLS likewise and closes the socket.
  void Close();

 private:
  std::size_t ReadTls(std::span<char> room, std::error_code& error);
  std::size_t WriteTls(std::string_view bytes, std::error_code& error);
  // The reason why the last call failed. Sets `wait` if it is would_block.
  std::error_code LastTlsError(int result, StreamSocket::wait_type& wait);
  [[nodiscard]] bool has_shaken_too_often() const noexcept {
    return HandshakeRecords(session_.get()) > kHandshakeRecordsMax;
  }
  void SendCloseNotify();

  StreamSocket socket_;
  TlsSession session_;  // null: a bare socket
  bool has_shaken_hands_ = false;
  bool is_broken_ = false;  // after a fatal error; TLS must not be used any more
  bool has_more_ = false;   // TLS has bytes to read, even if the socket has none
  StreamSocket::wait_type read_wait_ = StreamSocket::wait_read;
  StreamSocket::wait_type write_wait_ = StreamSocket::wait_write;
  std::string tls_failure_;
};

template <typename Handler>
void Transport::WaitToRead(Handler handler) {
  if (has_more_) {
    asio::post(socket_.get_executor(),
               [handler = std::move(handler)]() mutable { handler(std::error_code{}); });
  } else {
    socket_.async_wait(read_wait_, std::move(handler));
  }
}

template <typename Handler>
void Transport::WaitToWrite(Handler handler) {
  socket_.async_wait(write_wait_, std::move(handler));
}

}  // namespace weir
