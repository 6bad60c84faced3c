#include "server/net/transport.h"

#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace weir {

Transport::Transport(StreamSocket socket, TlsSession session)
    : socket_(std::move(socket)), session_(std::move(session)) {
  std::error_code ignored;  // cannot fail on Linux
  socket_.non_blocking(true, ignored);
}

std::size_t Transport::Read(std::span<char> room, std::error_code& error) {
  if (session_) return ReadTls(room, error);
  return socket_.read_some(asio::buffer(room.data(), room.size()), error);
}

std::size_t Transport::Write(std::string_view bytes, std::error_code& error) {
  if (session_) return WriteTls(bytes, error);
  return socket_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
}

// Reads until the room is full or TLS has no bytes left. Any further bytes are then in the kernel,
// so the socket becomes readable for them. An error after some bytes is returned by the next read.
std::size_t Transport::ReadTls(std::span<char> room, std::error_code& error) {
  std::size_t total = 0;
  error.clear();
  has_more_ = false;
  read_wait_ = StreamSocket::wait_read;
  ForgetHandshakeRecords(session_.get());
  do {
    ERR_clear_error();
    std::size_t bytes = 0;
    const std::span<char> rest = room.subspan(total);
    const int result = SSL_read_ex(session_.get(), rest.data(), rest.size(), &bytes);
    if (!has_shaken_hands_) has_shaken_hands_ = SSL_is_init_finished(session_.get()) != 0;
    if (result <= 0) {
      error = LastTlsError(result, read_wait_);
      break;
    }
    total += bytes;
    has_more_ = SSL_has_pending(session_.get()) != 0;
  } while (has_more_ && total < room.size());
  if (has_shaken_too_often()) {
    error = LastTlsError(0, read_wait_);
    total = 0;
  }
  if (error) has_more_ = false;
  if (total == 0 || !error) return total;
  has_more_ = error != asio::error::would_block;
  error.clear();
  return total;
}

std::size_t Transport::WriteTls(std::string_view bytes, std::error_code& error) {
  error.clear();
  write_wait_ = StreamSocket::wait_write;
  ERR_clear_error();
  std::size_t written = 0;
  const int result = SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &written);
  if (result > 0) return written;
  error = LastTlsError(result, write_wait_);
  return 0;
}

std::error_code Transport::LastTlsError(int result, StreamSocket::wait_type& wait) {
  const int system_error = errno;
  if (has_shaken_too_often()) {
    is_broken_ = true;
    tls_failure_ = "too many records of handshakes at once";
    return std::make_error_code(std::errc::protocol_error);
  }
  switch (SSL_get_error(session_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      wait = StreamSocket::wait_read;
      return asio::error::would_block;
    case SSL_ERROR_WANT_WRITE:
      wait = StreamSocket::wait_write;
      return asio::error::would_block;
    case SSL_ERROR_ZERO_RETURN:
      return asio::error::eof;
    case SSL_ERROR_SYSCALL:
      is_broken_ = true;
      if (system_error == 0) return asio::error::eof;
      return {system_error, std::system_category()};
    default:
      break;
  }
  is_broken_ = true;
  const unsigned long reason = ERR_peek_error();
  // Every request has its own length, so an attacker gains nothing by truncating the stream.
  if (ERR_GET_REASON(reason) == SSL_R_UNEXPECTED_EOF_WHILE_READING) return asio::error::eof;
  const char* const text = ERR_reason_error_string(reason);
  tls_failure_ = text != nullptr ? text : "unknown error";
  if (const long verified = SSL_get_verify_result(session_.get()); verified != X509_V_OK) {
    absl::StrAppend(&tls_failure_, ": ", X509_verify_cert_error_string(verified));
  }
  return std::make_error_code(std::errc::protocol_error);
}

bool Transport::has_certificate() const noexcept {
  return has_shaken_hands_ && SSL_get0_peer_certificate(session_.get()) != nullptr;
}

void Transport::CancelWaits() {
  std::error_code ignored;
  socket_.cancel(ignored);
}

std::size_t Transport::Available() {
  std::error_code error;
  const std::size_t in_kernel = socket_.available(error);
  if (error) return 0;
  if (!session_ || SSL_has_pending(session_.get()) == 0) return in_kernel;
  return in_kernel + SSL3_RT_MAX_PLAIN_LENGTH;
}

// The descriptor stays the same, so TLS continues.
void Transport::MoveTo(asio::io_context& context) {
  std::error_code ignored;
  const StreamProtocol protocol = socket_.local_endpoint(ignored).protocol();
  const int descriptor = socket_.release(ignored);
  socket_ = StreamSocket(context);
  std::error_code error;
  socket_.assign(protocol, descriptor, error);
  if (error) {
    // The kernel has no room for it: reads and writes will fail. TLS would continue with whatever
    // gets the descriptor's number next.
    session_.reset();
    close(descriptor);
  }
  socket_.non_blocking(true, ignored);
}

StreamSocket Transport::ReleaseSocket() {
  SendCloseNotify();
  session_.reset();
  return std::move(socket_);
}

void Transport::Close() {
  SendCloseNotify();
  std::error_code ignored;
  socket_.close(ignored);
}

// If the kernel has no room for it, the client sees only the end of the stream.
void Transport::SendCloseNotify() {
  if (!session_ || !has_shaken_hands_ || is_broken_) return;
  ERR_clear_error();
  SSL_shutdown(session_.get());
}

}  // namespace weir
