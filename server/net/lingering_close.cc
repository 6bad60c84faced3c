#include "server/net/lingering_close.h"

#include <system_error>
#include <utility>

#include <asio/buffer.hpp>
#include <asio/steady_timer.hpp>

#include "server/os/wipe.h"

namespace weir {
namespace {

class LingeringClose : public std::enable_shared_from_this<LingeringClose> {
 public:
  LingeringClose(StreamSocket socket, std::span<char> scratch, std::shared_ptr<const void> owner)
      : owner_(std::move(owner)),
        scratch_(scratch),
        socket_(std::move(socket)),
        deadline_(socket_.get_executor()) {}

  void Start() {
    std::error_code error;
    socket_.shutdown(StreamSocket::shutdown_send, error);
    if (error) return;  // The peer is gone; the destructor closes.
    deadline_.expires_after(kLingerTime);
    deadline_.async_wait([self = shared_from_this()](std::error_code) { self->Close(); });
    WaitForInput();
  }

 private:
  void WaitForInput() {
    socket_.async_wait(StreamSocket::wait_read, [self = shared_from_this()](std::error_code error) {
      if (!error) self->Discard();
    });
  }

  void Discard() {
    std::error_code error;
    const std::size_t bytes =
        socket_.read_some(asio::buffer(scratch_.data(), scratch_.size()), error);
    if (error && error != asio::error::would_block) return Close();
    Wipe(scratch_.first(bytes));  // A refused client may have sent a password.
    if (bytes >= bytes_left_) return Close();
    bytes_left_ -= bytes;
    WaitForInput();
  }

  void Close() {
    std::error_code ignored;
    socket_.close(ignored);
    deadline_.cancel();
  }

  const std::shared_ptr<const void> owner_;
  const std::span<char> scratch_;
  StreamSocket socket_;
  asio::steady_timer deadline_;
  std::size_t bytes_left_ = kLingerBytesMax;
};

}  // namespace

void CloseLingering(StreamSocket socket, std::span<char> scratch,
                    std::shared_ptr<const void> owner) {
  std::make_shared<LingeringClose>(std::move(socket), scratch, std::move(owner))->Start();
}

}  // namespace weir
