// The link of one I/O thread of an edge to its primary: a socket in the thread's loop, which
// connects, logs in, and connects again when it fails.
//
//     look up -> connect -> TLS -> HELLO 3 AUTH, INFO -> up: requests out, replies and pushes in
//          ^------- a pause of 100 ms, doubled up to 3 s -------- any failure
//
// What is sent in one turn of the loop leaves in one write, and what has come is read before its
// owner hears of the end of it. The link keeps no count of replies: its owner knows what it asked.
// Belongs to the thread of its loop. Cost: a descriptor, and 64 KiB for
// input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/ip/address.hpp>
#include <asio/steady_timer.hpp>

#include "core/base/host_and_port.h"
#include "core/base/instant.h"
#include "protocol/reply_scanner.h"
#include "server/net/host_look_up.h"
#include "server/net/stream_socket.h"
#include "server/net/tls_context.h"
#include "server/net/transport.h"
#include "server/session/services.h"

namespace weir {

inline constexpr std::chrono::milliseconds kEdgeRetryMin{100};
inline constexpr std::chrono::milliseconds kEdgeRetryMax{3000};

// What INFO of a server says to an edge.
struct PrimaryFacts {
  bool is_primary = false;
  bool is_edge = false;
  bool is_loading = false;
  std::uint64_t term = 0;
};
[[nodiscard]] PrimaryFacts ReadPrimaryFacts(std::string_view info);

class EdgeLink {
 public:
  // Hears what happens, on the thread of the loop; may send in these functions.
  class Owner {
   public:
    Owner() = default;
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

    // Bytes have come. The next calls tell of them.
    virtual void OnInput() = 0;
    virtual void OnUp(const PrimaryFacts& facts) = 0;
    // The bytes of the next reply to what was sent since, or of a message that no request has.
    virtual void OnReply(std::string_view reply) = 0;
    virtual void OnPush(std::string_view message) = 0;
    // The owner has heard all that has come so far.
    virtual void OnQuiet() = 0;
    // The link was up and is not any more. No reply comes to what was sent.
    virtual void OnDown() = 0;

   protected:
    ~Owner() = default;
  };

  // `tls`: null if the link speaks plain text. All must outlive it.
  EdgeLink(asio::io_context& context, Services& services, const SharedTlsContext* tls,
           Owner& owner);
  ~EdgeLink();
  EdgeLink(const EdgeLink&) = delete;
  EdgeLink& operator=(const EdgeLink&) = delete;

  // Begins to connect, soon, on the thread of the loop.
  void Start();
  // Sends what is written, and ends the link and all that waits in the loop for it. It does not
  // connect again.
  void Leave();
  // Ends the link for this reason, and connects again.
  void Cut(std::string_view reason);

  [[nodiscard]] bool is_up() const noexcept { return is_up_; }
  [[nodiscard]] const HostAndPort& primary() const noexcept { return primary_; }
  // Requests to be sent, which the caller appends; they leave at the end of this turn of the loop.
  // Requires: is_up().
  [[nodiscard]] std::string& Output();
  [[nodiscard]] std::size_t unsent_bytes() const noexcept { return out_.size() - sent_; }

 private:
  void Connect();
  void TryNextAddress();
  void OnConnected(StreamSocket socket);
  void LogIn();
  void SendSoon();
  void Send();
  void Receive();
  void AwaitInput();
  // Takes the replies that are complete. Returns whether the link is as it was.
  bool Take(std::string_view bytes);
  void TakeGreeting(std::string_view reply);
  void Close();
  void Fail(std::string_view reason);
  [[nodiscard]] std::string ReasonOf(const std::error_code& error) const;

  asio::io_context& context_;
  Services& services_;
  const SharedTlsContext* const tls_;
  Owner& owner_;
  const HostAndPort primary_;
  asio::steady_timer timer_;  // the end of an attempt, or of a pause
  std::optional<HostLookUp> look_up_;
  std::vector<asio::ip::address> addresses_;  // to be tried, the next one last
  // Shared with the handlers that wait: those of an earlier link find another one here.
  std::shared_ptr<StreamSocket> connecting_;
  std::shared_ptr<Transport> transport_;
  ReplyScanner scanner_;
  std::vector<char> input_;
  std::string pending_;  // the beginning of a reply
  std::string out_;
  std::size_t sent_ = 0;     // bytes of out_
  bool sends_soon_ = false;  // Send() is in the loop's queue
  bool waits_for_room_ = false;
  std::size_t greetings_ = 0;  // replies that are still to come before the link is up
  bool is_up_ = false;
  bool has_left_ = false;
  Nanos pause_ = kEdgeRetryMin;
  std::string told_;  // the reason in the last line of the log about a failure
};

}  // namespace weir
