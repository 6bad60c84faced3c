#include "server/edge/edge_link.h"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include <asio/error.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <spdlog/spdlog.h>

#include "core/base/check.h"
#include "core/base/status.h"
#include "protocol/link_reply.h"
#include "server/os/log.h"
#include "server/os/wipe.h"

namespace weir {
namespace {

using asio::ip::tcp;

constexpr std::size_t kLinkBytesAtOnce = std::size_t{64} * 1024;
// The most that is read before the clients of the thread have their turn.
constexpr int kReadsPerTurn = 16;
constexpr std::size_t kUnsentBytesKept = std::size_t{256} * 1024;

}  // namespace

PrimaryFacts ReadPrimaryFacts(std::string_view info) {
  PrimaryFacts facts;
  for (const absl::string_view line : absl::StrSplit(AbslView(info), "\r\n")) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (field.first == "role") facts.is_primary = field.second == "master";
    if (field.first == "edge_state") facts.is_edge = true;
    if (field.first == "loading") facts.is_loading = field.second != "0";
    if (field.first == "deposed") facts.is_primary &= field.second == "0";
    if (field.first == "term" && !absl::SimpleAtoi(field.second, &facts.term)) facts.term = 0;
  }
  return facts;
}

EdgeLink::EdgeLink(asio::io_context& context, Services& services, const SharedTlsContext* tls,
                   Owner& owner)
    : context_(context),
      services_(services),
      tls_(tls),
      owner_(owner),
      primary_(services.options.edge_of.servers.front()),
      timer_(context) {}

EdgeLink::~EdgeLink() = default;

void EdgeLink::Start() {
  asio::post(context_, [this] { Connect(); });
}

void EdgeLink::Leave() {
  has_left_ = true;
  if (is_up_ && !waits_for_room_) Send();  // What the socket does not take at once is lost.
  is_up_ = false;
  timer_.cancel();
  look_up_.reset();
  Close();
}

// Handlers that wait in the loop hold their socket, and end with an error.
void EdgeLink::Close() {
  std::error_code ignored;
  if (connecting_) std::exchange(connecting_, nullptr)->close(ignored);
  if (transport_) std::exchange(transport_, nullptr)->Close();
}

void EdgeLink::Cut(std::string_view reason) { Fail(reason); }

std::string& EdgeLink::Output() {
  WEIR_DCHECK(is_up_);
  SendSoon();
  return out_;
}

void EdgeLink::Connect() {
  if (has_left_) return;
  const Nanos timeout = services_.settings.Get(&Options::repl_timeout);
  timer_.expires_after(timeout);
  timer_.async_wait([this](std::error_code error) {
    if (!error && !is_up_ && !has_left_) Fail("timed out");
  });
  look_up_.emplace(primary_.host, context_, [this](std::error_code error, const auto& found) {
    if (error) return Fail(error.message());
    addresses_.assign(found.rbegin(), found.rend());
    TryNextAddress();
  });
}

void EdgeLink::TryNextAddress() {
  const StreamEndpoint endpoint = tcp::endpoint(addresses_.back(), primary_.port);
  addresses_.pop_back();
  connecting_ = std::make_shared<StreamSocket>(context_);
  connecting_->async_connect(endpoint, [this, socket = connecting_](std::error_code error) {
    if (socket != connecting_) return;
    if (!error) return OnConnected(std::move(*std::exchange(connecting_, nullptr)));
    if (addresses_.empty()) return Fail(error.message());
    TryNextAddress();
  });
}

void EdgeLink::OnConnected(StreamSocket socket) {
  WEIR_CHECK(!is_up_ && !transport_);
  look_up_.reset();
  std::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  TlsSession session = tls_ ? tls_->NewSession(socket.native_handle()) : nullptr;
  if (tls_ && !session) return Fail("TLS: there is no memory for it");
  transport_ = std::make_shared<Transport>(std::move(socket), std::move(session));
  LogIn();
  // The client's side of TLS speaks first, which reading does.
  if (transport_->is_handshaking()) return Receive();
  SendSoon();
  AwaitInput();
}

// An edge checks its clients, and is one user of its primary.
void EdgeLink::LogIn() {
  const Options options = services_.settings.All();  // which wipes its copy of the password
  std::vector<std::string_view> hello = {"HELLO", "3"};
  if (!options.primary_password.empty()) {
    const std::string_view user = options.primary_user;
    hello.insert(hello.end(),
                 {"AUTH", user.empty() ? kDefaultUser : user, options.primary_password.text()});
  }
  hello.insert(hello.end(), {"SETNAME", "weir-edge"});
  AppendRequest(hello, out_);
  AppendRequest(std::array<std::string_view, 4>{"INFO", "replication", "edge", "persistence"},
                out_);
  greetings_ = 2;
}

void EdgeLink::SendSoon() {
  if (std::exchange(sends_soon_, true)) return;
  asio::post(context_, [this] {
    sends_soon_ = false;
    if (transport_ && !transport_->is_handshaking() && !waits_for_room_) Send();
  });
}

void EdgeLink::Send() {
  while (sent_ < out_.size()) {
    std::error_code error;
    sent_ += transport_->Write(std::string_view(out_).substr(sent_), error);
    if (error == asio::error::would_block) {
      waits_for_room_ = true;
      return transport_->WaitToWrite([this, link = transport_](std::error_code failed) {
        if (link != transport_) return;
        waits_for_room_ = false;
        if (!failed) Send();
      });
    }
    if (error) return Fail(ReasonOf(error));
  }
  if (!is_up_) Wipe(out_);  // It may have the password.
  out_.clear();
  if (out_.capacity() > kUnsentBytesKept) std::string().swap(out_);
  sent_ = 0;
}

void EdgeLink::AwaitInput() {
  transport_->WaitToRead([this, link = transport_](std::error_code error) {
    if (link == transport_ && !error) Receive();
  });
}

void EdgeLink::Receive() {
  input_.resize(kLinkBytesAtOnce);
  const std::shared_ptr<Transport> link = transport_;
  const bool was_handshaking = link->is_handshaking();
  for (int i = 0; i < kReadsPerTurn; ++i) {
    std::error_code error;
    const std::size_t received = link->Read(input_, error);
    if (error == asio::error::would_block) break;
    if (error) return Fail(ReasonOf(error));
    owner_.OnInput();
    if (!Take({input_.data(), received})) return;
    if (received < input_.size()) break;
  }
  if (was_handshaking && !link->is_handshaking()) SendSoon();
  if (is_up_) owner_.OnQuiet();
  if (link == transport_) AwaitInput();
}

bool EdgeLink::Take(std::string_view bytes) {
  const std::shared_ptr<Transport> link = transport_;
  const bool has_pending = !pending_.empty();
  if (has_pending) pending_ += bytes;
  std::string whole = has_pending ? std::exchange(pending_, {}) : std::string();
  std::string_view unread = has_pending ? std::string_view(whole) : bytes;
  while (!unread.empty()) {
    const ReplyScanner::Result result = scanner_.Scan(unread);
    if (result == ReplyScanner::Result::kNeedMore) break;
    if (result == ReplyScanner::Result::kStrange) {
      Fail("it does not speak the Redis protocol");
      return false;
    }
    const std::string_view reply = unread.substr(0, scanner_.size());
    unread.remove_prefix(reply.size());
    if (reply.front() == '>') {
      if (is_up_) owner_.OnPush(reply);
    } else if (!is_up_) {
      TakeGreeting(reply);
    } else {
      owner_.OnReply(reply);
    }
    if (link != transport_) return false;
  }
  if (has_pending && unread.size() == whole.size()) {
    pending_ = std::move(whole);  // A long reply is not copied with each part that comes.
  } else {
    pending_ = unread;
  }
  return true;
}

void EdgeLink::TakeGreeting(std::string_view reply) {
  const Reply read = ReadReply(reply);
  if (read.is_error()) return Fail(absl::StrCat("it answers: ", AbslView(read.text)));
  if (greetings_ == 0) return Fail("it answers without being asked");
  if (--greetings_ > 0) return;
  const PrimaryFacts facts = ReadPrimaryFacts(read.text);
  if (facts.is_edge) return Fail("it is an edge itself");
  if (!facts.is_primary) return Fail("it is no primary");
  if (facts.is_loading) return Fail("it is loading its state");
  timer_.cancel();
  is_up_ = true;
  pause_ = kEdgeRetryMin;
  told_.clear();
  spdlog::info("this edge is connected to its primary {}", EscapedForLog(AddressText(primary_)));
  owner_.OnUp(facts);
}

void EdgeLink::Fail(std::string_view reason) {
  const std::string told(reason);  // which may be a part of what is cleared here
  const bool was_up = std::exchange(is_up_, false);
  Close();
  look_up_.reset();  // A late answer would connect beside the next attempt.
  addresses_.clear();
  scanner_.Restart();
  pending_.clear();
  Wipe(out_);
  sent_ = 0;
  waits_for_room_ = false;
  if (was_up || told != told_) {
    spdlog::warn("this edge has no primary: {}: {}", EscapedForLog(AddressText(primary_)),
                 EscapedForLog(told));
  }
  told_ = told;
  timer_.expires_after(pause_);
  timer_.async_wait([this](std::error_code error) {
    if (!error) Connect();
  });
  pause_ = std::min<Nanos>(2 * pause_, kEdgeRetryMax);
  if (was_up) owner_.OnDown();
}

std::string EdgeLink::ReasonOf(const std::error_code& error) const {
  if (error == asio::error::eof) return "it has closed the connection";
  const std::string& tls = transport_ ? transport_->tls_failure() : std::string();
  return tls.empty() ? error.message() : absl::StrCat("TLS: ", tls);
}

}  // namespace weir
