#include "server/replicas/primary_link.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include <asio/error.hpp>
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <spdlog/spdlog.h>

#include "core/base/status.h"
#include "core/limiter/limiter_restore.h"
#include "protocol/link_reply.h"
#include "server/net/host_look_up.h"
#include "server/os/log.h"
#include "server/replicas/link_error.h"
#include "server/replicas/link_reply.h"
#include "server/replicas/own_address.h"

namespace weir {
namespace {

using asio::ip::tcp;
using std::chrono::milliseconds;

// The time between two looks whether to join. Join() ends the wait earlier.
constexpr std::chrono::seconds kJoinLook{1};
constexpr std::size_t kLinkInputBytes = std::size_t{256} * 1024;

}  // namespace

PrimaryLink::PrimaryLink(const Dependencies& dependencies, OpenLink open, std::uint64_t term)
    : services_(dependencies.services),
      clock_(dependencies.clock),
      followed_(dependencies.followed),
      sink_(followed_.sink()),
      tls_(dependencies.tls),
      post_(dependencies.post),
      open_(std::move(open)),
      term_(term),
      loop_(dependencies.loop),
      context_(loop_.context()),
      input_(kLinkInputBytes) {
  loop_.Begin([this] { Run(); });
}

PrimaryLink::~PrimaryLink() {
  End();
  thread_.TakeOver();
  loop_.Clear();
}

void PrimaryLink::End() {
  Stop();
  loop_.Await();
}

void PrimaryLink::Stop() {
  ending_ = true;
  asio::post(context_, [] {});  // ends a wait
}

void PrimaryLink::Run() {
  thread_.TakeOver();
  const absl::Status ended = Follow();
  transport_.reset();
  ShowState(LinkState::kConnect);
  if (!ending_ && !ended.ok()) followed_.LogFailure(open_.primary, ended);
  const std::optional<std::uint64_t> shown = sink_.shown();
  post_(LinkEnded{.link = open_.link,
                  .offset = shown.value_or(0),
                  .is_exact = shown.has_value(),
                  .promised_until = promise_.until()});
}

absl::Status PrimaryLink::Follow() {
  ShowState(LinkState::kConnecting);
  WEIR_RETURN_IF_ERROR(Connect());
  ShowState(LinkState::kHandshake);
  WEIR_RETURN_IF_ERROR(ShakeHands());
  WEIR_RETURN_IF_ERROR(LogIn());
  if (const absl::Status refused = Sync(); !refused.ok()) {
    // First, since the role machine may end the link at once.
    if (!ending_) followed_.LogFailure(open_.primary, refused);
    PostRefusal(refused);
    return absl::OkStatus();
  }
  return ending_ ? absl::OkStatus() : Apply();
}

// Starts an operation and waits until it ends. After a timeout the link ends, and the operation's
// handler, if it runs later, changes nothing that the link reads.
template <typename Start>
std::error_code PrimaryLink::Await(Start start, Nanos time) {
  const auto result = std::make_shared<std::optional<std::error_code>>();
  start([result](std::error_code error, auto&&...) { *result = error; });
  const HostInstant deadline = clock_.HostNow() + time;
  while (!*result && !ending_ && clock_.HostNow() < deadline) RunUntil(deadline);
  return result->value_or(asio::error::timed_out);
}

// Runs one handler; runs none if no handler is ready by the deadline.
void PrimaryLink::RunUntil(HostInstant deadline) {
  context_.run_one_for(std::max(deadline - clock_.HostNow(), Nanos{0}));
}

absl::Status PrimaryLink::ErrorOf(const std::error_code& error) const {
  using Kind = LinkErrorKind;
  if (error == asio::error::timed_out) return LinkError(Kind::kTimeout, "timed out");
  if (error == asio::error::eof) return LinkError(Kind::kBroken, "it has closed the connection");
  const std::string& tls = transport_ ? transport_->tls_failure() : std::string();
  return LinkError(Kind::kBroken, tls.empty() ? error.message() : absl::StrCat("TLS: ", tls));
}

absl::Status PrimaryLink::Connect() {
  std::vector<asio::ip::address> addresses;
  std::optional<HostLookUp> look_up;  // its answer is dropped at the end of the function
  std::error_code error = Await(
      [&](auto done) {
        look_up.emplace(open_.primary.host, context_, [&addresses, done](auto failed, auto& found) {
          addresses = found;
          done(failed);
        });
      },
      timeout());
  if (error) return ErrorOf(error);
  error = asio::error::host_not_found;
  for (const asio::ip::address& address : addresses) {
    const StreamEndpoint endpoint = tcp::endpoint(address, open_.primary.port);
    auto socket = std::make_shared<StreamSocket>(context_);
    error = Await(
        [&](auto done) {
          socket->async_connect(endpoint, [socket, done](std::error_code failed) { done(failed); });
        },
        timeout());
    std::error_code ignored;
    if (error) socket->close(ignored);
    if (ending_) return ErrorOf(error);
    if (error) continue;
    socket->set_option(tcp::no_delay(true), ignored);
    TlsSession session = tls_ != nullptr ? tls_->NewSession(socket->native_handle()) : nullptr;
    if (tls_ != nullptr && !session) {
      return LinkError(LinkErrorKind::kBroken, "TLS: there is no memory for it");
    }
    transport_.emplace(std::move(*socket), std::move(session));
    return absl::OkStatus();
  }
  return ErrorOf(error);
}

// Completes the handshake of TLS, which reading does.
absl::Status PrimaryLink::ShakeHands() {
  const HostInstant begun = clock_.HostNow();
  has_input_ = transport_->is_handshaking();  // It begins with a read, though nothing has come.
  while (transport_->is_handshaking()) {
    std::error_code error;
    const std::optional<std::size_t> received = ReceiveWithin(timeout(), error);
    if (error) return ErrorOf(error);
    if (received) pending_.append(input_.data(), *received);
    if (ending_ || clock_.HostNow() - begun >= timeout()) {
      return LinkError(LinkErrorKind::kTimeout, "it does not answer the TLS handshake: timed out");
    }
  }
  return absl::OkStatus();
}

absl::Status PrimaryLink::LogIn() {
  const Options options = services_.settings.All();  // which wipes its copy of the password
  std::vector<std::string> reply;
  if (options.primary_password.empty()) {
    // A server that wants a password refuses RL.SYNC as too long, which does not name the reason.
    const absl::Status asked = Ask(std::array<std::string_view, 1>{"PING"}, reply);
    const bool needs_password = KindOf(asked) == LinkErrorKind::kNeedsPassword;
    return needs_password || AnswerOf(asked).empty() ? asked : absl::OkStatus();
  }
  std::vector<std::string_view> words = {"AUTH"};
  if (!options.primary_user.empty()) words.push_back(options.primary_user);
  words.push_back(options.primary_password.text());
  return Ask(words, reply);
}

absl::Status PrimaryLink::Sync() {
  const std::string history = followed_.cell().Read().history;
  SyncRequest request;
  request.oldest_version = kStreamVersionMin;
  request.newest_version = kStreamVersionMax;
  request.run_id = services_.run_id;
  const Options options = services_.settings.All();
  request.ip = options.replica_announce_ip.name;
  request.port = PortToAnnounce(options, services_.port);
  request.term = open_.claims ? term_ : 0;
  request.key_fingerprint = FingerprintOfSecret(services_.limiter.hasher());
  if (!history.empty()) request.from = {history, sink_.applied()};
  request.was_told = open_.says_told;
  std::vector<std::string> reply;
  const std::vector<std::string> words = SyncWords(request);
  const std::vector<std::string_view> views(words.begin(), words.end());
  WEIR_RETURN_IF_ERROR(Ask(views, reply));
  const std::optional<SyncAnswer> answer = ReadSyncAnswer(reply);
  if (!answer || !IsHistoryId(answer->replid) || answer->version != kStreamVersionMax) {
    return LinkError(LinkErrorKind::kStrange, "it does not answer RL.SYNC as weir does");
  }
  post_(SyncAnswered{.link = open_.link,
                     .what = SyncAnswered::What::kAccepted,
                     .address = open_.primary,
                     .term = answer->term,
                     .id = answer->replid,
                     .has_our_secret = answer->secret.empty(),
                     .has_buckets = services_.upkeep.size().buckets > 0});
  while (!has_joined_ && !ending_) RunUntil(clock_.HostNow() + kJoinLook);
  return ending_ ? absl::OkStatus() : Begin(*answer);
}

// Continues from where the primary's history and ours part.
absl::Status PrimaryLink::Begin(const SyncAnswer& answer) {
  const bool is_same = answer.replid == followed_.cell().Read().history;
  if (!answer.resume) {
    // First, so that no save takes the emptied table for a state of the old history.
    followed_.cell().Write([](LinkFacts& facts) { facts.shown.reset(); });
  }
  if (!answer.secret.empty()) {
    HashSecret secret;
    std::ranges::copy(answer.secret, secret.begin());
    const std::size_t dropped = services_.upkeep.size().buckets;
    LimiterRestore(services_.limiter.table()).StartOver(secret);
    spdlog::warn(
        "the primary hashes keys with another secret: this server takes it, and drops {} "
        "buckets",
        dropped);
    sink_.StartOver(answer.head, true);
  } else if (!answer.resume) {
    sink_.StartOver(answer.head, false);
  } else if (!sink_.Resume(answer.common, is_same)) {
    return LinkError(LinkErrorKind::kStrange,
                     absl::StrCat("it continues at offset ", answer.common,
                                  ", and this server has only ", sink_.applied()));
  }
  followed_.Show(answer.replid);
  {
    // An offset that was saved before is of another history.
    MutexLock lock(mutex_);
    saving_.reset();
    saved_.reset();
  }
  spdlog::info("following {}:{} from offset {}{}", EscapedForLog(open_.primary.host),
               open_.primary.port, sink_.applied(),
               answer.resume ? "" : ", with a copy of its whole state");
  return absl::OkStatus();
}

// Tells the role machine what the primary's error means for it.
void PrimaryLink::PostRefusal(const absl::Status& refused) {
  SyncAnswered answer = {.link = open_.link};
  const LinkErrorKind kind = KindOf(refused);
  if (kind == LinkErrorKind::kOtherGroup) answer.what = SyncAnswered::What::kOtherGroup;
  if (kind == LinkErrorKind::kReferral) {
    const HostAndPort primary = ReadReferral(AnswerOf(refused)).value();
    // A successor that is not the primary yet refers to this server.
    if (!IsOwnAddress(services_.settings.All(), services_.port, primary)) {
      answer.what = SyncAnswered::What::kReferral;
      answer.address = primary;
    }
  }
  post_(std::move(answer));
}

// Applies frames until the link fails.
absl::Status PrimaryLink::Apply() {
  applies_ = true;
  ShowState(LinkState::kSync);
  std::string out;
  sink_.AppendNeed(clock_.Now(), out);
  HostInstant heard = clock_.HostNow();
  owes_ack_ = true;  // after each read: a reply may wait for it
  std::string bytes = std::exchange(pending_, {});
  if (!bytes.empty()) {
    WEIR_RETURN_IF_ERROR(Take(bytes, heard));
  }
  while (!ending_ && !has_yielded_) {
    if (breaks_) {
      return LinkError(LinkErrorKind::kBroken, "CLIENT KILL has ended the connection");
    }
    if (std::exchange(owes_ack_, false)) AppendAck(out);
    // After the ACK: a primary yields only to a replica that says that it is in sync.
    if (std::exchange(asks_to_take_over_, false)) AppendTakeover(out);
    if (!out.empty()) {
      WEIR_RETURN_IF_ERROR(Send(out));
      out.clear();
    }
    std::error_code error;
    const std::optional<std::size_t> received = ReceiveWithin(timeout(), error);
    if (error) return ErrorOf(error);
    const HostInstant now = clock_.HostNow();
    if (received) {
      heard = now;
      owes_ack_ = true;
      WEIR_RETURN_IF_ERROR(Take({input_.data(), *received}, now));
    } else if (now - heard >= timeout()) {
      const auto seconds = std::chrono::floor<std::chrono::seconds>(timeout());
      return LinkError(LinkErrorKind::kTimeout,
                       absl::StrCat("nothing has come for ", seconds.count(), " s"));
    }
  }
  return absl::OkStatus();
}

absl::Status PrimaryLink::Take(std::string_view bytes, HostInstant now) {
  const Instant primary_now = clock_.Now();  // unless this server was suspended
  const bool has_time = followed_.time_of == open_.primary;
  const bool goes_on = sink_.Receive(bytes);
  followed_.ReportDropped();
  const Nanos age = has_time ? primary_now - sink_.newest_on_link() : Nanos{0};
  FollowTime(now);
  followed_.cell().Write([&](LinkFacts& facts) {
    facts.last_io = now;
    facts.shown = sink_.shown();
    facts.read_offset = sink_.applied();
    facts.partitions_left = sink_.partitions_left();
    facts.exact_time = sink_.exact_time();
  });
  PostFacts();
  if (goes_on && sink_.yielded()) {
    has_yielded_ = true;
    post_(YieldCame{.link = open_.link,
                    .term = *sink_.yielded(),
                    .age = std::max(age, Nanos{0}),
                    .offset = sink_.shown().value_or(0),
                    .is_exact = sink_.shown().has_value()});
  }
  if (awaits_yield_ && sink_.refusals() == requests_) {
    awaits_yield_ = false;
    post_(RefuseCame{open_.link});
  }
  SaveWhatIsNew();
  ShowState(sink_.synced() ? LinkState::kConnected : LinkState::kSync);
  if (goes_on) return absl::OkStatus();
  return LinkError(LinkErrorKind::kStrange, absl::StrCat("it sends ", sink_.error()));
}

// The clock shows the primary's time.
void PrimaryLink::FollowTime(HostInstant now) {
  if (sink_.newest_on_link() == Instant{}) return;
  shift_.Add(sink_.newest_on_link(), now);
  if (followed_.time_of == open_.primary) return clock_.SetShift(shift_.At(now));
  followed_.time_of = open_.primary;
  clock_.Rebase(shift_.At(now));
}

// Posts what the role machine does not know yet.
void PrimaryLink::PostFacts() {
  const bool is_exact = sink_.shown().has_value();
  if (!std::exchange(was_fed_, true) || is_exact != was_exact_) {
    post_(LinkUp{.link = open_.link, .is_exact = is_exact});
  }
  was_exact_ = is_exact;
  if (sink_.synced() == was_synced_) return;
  was_synced_ = sink_.synced();
  if (!was_synced_) return post_(LinkLacks{open_.link});
  spdlog::info("this server has the whole state of its primary");
  followed_.ForgetFailures();
  post_(LinkSynced{open_.link});
}

absl::Status PrimaryLink::Ask(std::span<const std::string_view> words,
                              std::vector<std::string>& reply) {
  std::string request;
  AppendRequest(words, request);
  const absl::Status sent = Send(request);
  Wipe(request);  // It may have the password.
  WEIR_RETURN_IF_ERROR(sent);
  const HostInstant begun = clock_.HostNow();
  for (;;) {
    if (std::optional<LinkReply> read = ReadLinkReply(pending_)) {
      pending_.erase(0, read->bytes);
      was_answered_ = true;
      if (!read->error.empty()) return RefusedByPeer(read->error);
      reply = std::move(read->words);
      return absl::OkStatus();
    }
    std::error_code error;
    const std::optional<std::size_t> received = ReceiveWithin(timeout(), error);
    if (error == asio::error::eof && !was_answered_ && tls_ == nullptr) {
      return LinkError(LinkErrorKind::kBroken,
                       "it has closed the connection without an answer, as a TLS port does");
    }
    if (error) return ErrorOf(error);
    if (received) pending_.append(input_.data(), *received);
    if (ending_ || clock_.HostNow() - begun >= timeout()) {
      return ErrorOf(asio::error::timed_out);
    }
  }
}

void PrimaryLink::Join() {
  asio::post(context_, [this] {
    thread_.AssertHeld();
    has_joined_ = true;
  });
}

void PrimaryLink::AskToTakeOver() {
  asio::post(context_, [this] {
    thread_.AssertHeld();
    asks_to_take_over_ = applies_;
  });
}

void PrimaryLink::Break() {
  asio::post(context_, [this] {
    thread_.AssertHeld();
    breaks_ = applies_;
  });
}

absl::Status PrimaryLink::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    std::error_code error;
    bytes.remove_prefix(transport_->Write(bytes, error));
    if (error == asio::error::would_block) {
      error = Await(
          [&](auto done) {
            thread_.AssertHeld();
            transport_->WaitToWrite(done);
          },
          timeout());
    }
    if (error) return ErrorOf(error);
  }
  return absl::OkStatus();
}

std::optional<std::size_t> PrimaryLink::ReceiveWithin(Nanos wait, std::error_code& error) {
  if (!has_input_ && !std::exchange(watches_input_, true)) {
    transport_->WaitToRead([this](std::error_code failed) {
      if (failed == asio::error::operation_aborted) return;
      thread_.AssertHeld();
      watches_input_ = false;
      has_input_ = true;
    });
  }
  const HostInstant deadline = clock_.HostNow() + wait;
  while (!has_input_ && !ending_ && !asks_to_take_over_ && !breaks_ && !owes_ack_ &&
         clock_.HostNow() < deadline) {
    RunUntil(deadline);
  }
  if (!std::exchange(has_input_, false)) return std::nullopt;
  const std::size_t received = transport_->Read(input_, error);
  if (error != asio::error::would_block) return received;
  error.clear();
  return std::nullopt;
}

void PrimaryLink::ShowState(LinkState state) {
  followed_.cell().Write([&](LinkFacts& facts) { facts.state = state; });
}

}  // namespace weir
