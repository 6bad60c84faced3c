// A client's socket, and what is spoken on it: the bytes as they are, or TLS.
//
// It never blocks, and reads and writes as a non-blocking socket does: what moves is counted, and
// asio::error::would_block means to wait. TLS differs from a bare socket in three ways, and all of
// them end here:
//
//     to read it may have to write, and the other way round    WaitToRead(), WaitToWrite()
//     it may hold bytes of the client's that the socket has
//     given away already, and will not wake anybody for        WaitToRead()
//     it begins with a handshake, which the first reads do     is_handshaking()
//
// Costs: one test of a pointer for a read or a write of a bare socket.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <asio/post.hpp>

#include "server/net/stream_socket.h"
#include "server/net/tls_context.h"

namespace weir {

class Transport {
 public:
  // Makes the socket non-blocking. With a `session`, which must have been made for it, this is the
  // server's side of TLS.
  explicit Transport(StreamSocket socket, TlsSession session = nullptr);

  [[nodiscard]] StreamSocket::executor_type executor() { return socket_.get_executor(); }

  // The bytes read, 0 with an error: would_block, eof, or what has broken the connection.
  std::size_t Read(std::span<char> room, std::error_code& error);

  // The bytes written, 0 with an error. After would_block the next write has to begin with the same
  // bytes, as many or more.
  std::size_t Write(std::string_view bytes, std::error_code& error);

  // Calls handler(error) when Read (Write) may get further. One of each at a time.
  template <typename Handler>
  void WaitToRead(Handler handler);
  template <typename Handler>
  void WaitToWrite(Handler handler);
  void CancelWaits();

  // How many bytes a reader would get now, or a few more; 0: none.
  [[nodiscard]] std::size_t Available();

  // Nothing of the client's can have been read yet.
  [[nodiscard]] bool is_handshaking() const noexcept { return session_ && !has_shaken_hands_; }
  // The reason of the last TLS failure: "http request"; empty: none.
  [[nodiscard]] const std::string& tls_failure() const noexcept { return tls_failure_; }

  // Says that nothing more is sent, as far as TLS has a word for it, and gives the socket away.
  [[nodiscard]] StreamSocket ReleaseSocket();
  // The same, and closes.
  void Close();

 private:
  std::size_t ReadTls(std::span<char> room, std::error_code& error);
  std::size_t WriteTls(std::string_view bytes, std::error_code& error);
  // Why the last call for `wait` has failed.
  std::error_code LastTlsError(int result, StreamSocket::wait_type& wait);
  [[nodiscard]] bool has_shaken_too_often() const noexcept {
    return HandshakeRecords(session_.get()) > kHandshakeRecordsMax;
  }
  void SendCloseNotify();

  StreamSocket socket_;
  TlsSession session_;  // null: a bare socket
  bool has_shaken_hands_ = false;
  bool is_broken_ = false;  // TLS must not be spoken any more
  bool has_more_ = false;   // to read, though the socket may have nothing
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
