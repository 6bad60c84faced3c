// The connection to the control plane that has the rules of Envoy's rate limit service: a socket in
// a loop, which connects, asks for all rules, answers each response, and connects again when it
// fails.
//
//     look up -> connect -> TLS -> the first bytes of HTTP/2 -> up: responses in, answers out
//          ^------- a pause of XdsBackOff ------- any failure
//
// A look-up has 30 s. Then an attempt has 5 s for each address of the host, one after the other,
// until the control plane speaks HTTP/2. TCP finds a connection that is dead within a minute;
// a PING each 6 minutes also finds a control plane that hangs: the connection ends after 10 s
// without any byte while the answer is out. (grpc-go ends connections with more PINGs than one in 5
// minutes.) A response has at most 16 MiB, else its stream is reset; and 1 MiB of answers may wait
// for a peer that does not read, else the connection ends. The rules stay in force whatever fails.
// Some control planes answer a refusal with another response at once: from the second refusal in a
// row on nothing is read for a second, and for up to 30 s after more of them.
//
// Belongs to the thread of its loop. Cost: a descriptor, and 64 KiB for input; while a response
// comes, its bytes.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include <asio/io_context.hpp>
#include <asio/ip/address.hpp>
#include <asio/steady_timer.hpp>

#include "core/base/host_and_port.h"
#include "core/base/instant.h"
#include "http2/grpc_message_reader.h"
#include "http2/http2_call.h"
#include "rls/xds_stream.h"
#include "server/config/pair_list.h"
#include "server/net/host_look_up.h"
#include "server/net/stream_socket.h"
#include "server/net/tls_context.h"
#include "server/net/transport.h"
#include "server/session/services.h"

namespace weir {

inline constexpr std::size_t kXdsMessageBytesMax = std::size_t{16} * 1024 * 1024;

struct XdsTimes {
  Nanos to_look_up = std::chrono::seconds{30};
  Nanos to_connect = std::chrono::seconds{5};
  Nanos between_pings = std::chrono::minutes{6};
  Nanos to_answer_ping = std::chrono::seconds{10};
};

class XdsClient {
 public:
  // Puts the rules of a response in force, and returns why it cannot. `message`: its bytes.
  using Use = std::function<absl::Status(XdsResponse& response, std::string_view message)>;
  // Called before each attempt to connect: the time to read certificates that have changed.
  using BeforeAttempt = std::function<void()>;

  // `tls`: null for a connection of plain text. All must outlive it. Requires: there is an rls-xds.
  XdsClient(asio::io_context& context, Services& services, const SharedTlsContext* tls, Use use,
            BeforeAttempt before_attempt = {}, XdsTimes times = {});
  ~XdsClient();
  XdsClient(const XdsClient&) = delete;
  XdsClient& operator=(const XdsClient&) = delete;

  // Begins to connect, soon, on the thread of the loop.
  void Start();
  // Ends the connection for good, and what waits in the loop for it. The client must outlive the
  // loop, whose last handlers find that it has stopped.
  void Stop();

 private:
  void Connect();
  // Tries the next address after `span`, or ends the attempt, unless it is up by then.
  void BoundAttempt(Nanos span);
  void TryNextAddress();
  void OnConnected(StreamSocket socket);
  void BeginCall();
  void OnUp();
  void WaitToPing();
  void AwaitPong();
  void Receive();
  void AwaitInput();
  // Returns whether the connection is as it was.
  bool Take(std::string_view bytes);
  void Answer(std::string_view message);
  void WriteMessage(std::string_view message);
  void Send();
  void Close();
  void ForgetOutput();
  void Fail(std::string_view reason);
  [[nodiscard]] std::string ReasonOf(const std::error_code& error) const;

  asio::io_context& context_;
  Services& services_;
  const SharedTlsContext* const tls_;
  const Use use_;
  const BeforeAttempt before_attempt_;
  const XdsTimes times_;
  const HostAndPort server_;
  asio::steady_timer timer_;  // the end of an attempt, of a pause, or the next look at a PING
  asio::steady_timer hold_;   // until more is read
  std::optional<HostLookUp> look_up_;
  std::vector<asio::ip::address> addresses_;  // to be tried, the next one last
  // Shared with the handlers that wait: those of an earlier connection find another one here.
  std::shared_ptr<StreamSocket> connecting_;
  std::shared_ptr<Transport> transport_;
  std::unique_ptr<Http2Call> call_;  // while there is a transport_
  GrpcMessageReader messages_{kXdsMessageBytesMax};
  XdsStream stream_;
  XdsBackOff back_off_;
  std::vector<char> input_;
  std::string out_;
  std::size_t sent_ = 0;  // bytes of out_
  bool waits_for_room_ = false;
  bool is_up_ = false;
  bool was_heard_ = false;     // since the last PING, or the last look at its answer
  bool is_held_back_ = false;  // before more is read
  bool is_holding_ = false;    // until hold_ ends
  int refusals_ = 0;           // in a row
  std::string refusal_;        // the version of the last one and why
  bool has_stopped_ = false;
  std::string told_;  // the reason in the last line of the log about a failure
};

}  // namespace weir
