#include "server/replicas/primary_link.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include <asio/error.hpp>
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <spdlog/spdlog.h>

#include "core/base/status.h"
#include "replication/lease.h"
#include "server/net/host_look_up.h"
#include "server/os/log.h"
#include "server/replicas/link_reply.h"
#include "server/replicas/own_address.h"

namespace weir {
namespace {

using asio::ip::tcp;
using std::chrono::milliseconds;

constexpr std::string_view kItAnswers = "it answers: ";
constexpr milliseconds kRestMin{100};
constexpr milliseconds kRestAfterYield{1};
constexpr milliseconds kRestMax{3000};
constexpr std::size_t kLoggedMax = 16;
constexpr std::size_t kLinkInputBytes = std::size_t{256} * 1024;

}  // namespace

PrimaryLink::PrimaryLink(const Parts& parts, HostAndPort primary, Identity own, Reason reason)
    : settings_(parts.settings),
      limiter_(parts.limiter),
      sink_(parts.sink),
      promise_(parts.promise),
      clock_(parts.clock),
      owner_(parts.owner),
      tls_(parts.tls),
      acks_from_disk_(parts.acks_from_disk),
      own_(std::move(own)),
      loop_(parts.loop),
      context_(loop_.context()),
      primary_(std::move(primary)),
      first_rest_(reason == Reason::kYield ? kRestAfterYield : kRestMin),
      was_told_(reason == Reason::kTold),
      input_(kLinkInputBytes) {
  status_.primary = primary_;
  status_.complete = sink_.complete();
  status_.read_offset = sink_.applied();
  shown_ = sink_.shown();
  exact_time_ = sink_.exact_time();
  down_since_ = clock_.HostNow();
  loop_.Begin([this] { Run(); });
}

PrimaryLink::~PrimaryLink() {
  End();
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

LinkStatus PrimaryLink::status() const {
  MutexLock lock(mutex_);
  LinkStatus status = status_;
  const HostInstant now = clock_.HostNow();
  if (last_io_ != HostInstant{}) status.since_last_io = now - last_io_;
  if (!status.up) status.down_for = now - down_since_;
  if (exact_time_ != Instant{}) status.data_age = std::max(clock_.Now() - exact_time_, Nanos{0});
  status.time_shift = clock_.shift();
  return status;
}

std::optional<std::uint64_t> PrimaryLink::shown() const {
  MutexLock lock(mutex_);
  return shown_;
}

void PrimaryLink::Run() {
  Nanos rest = first_rest_;
  while (!ending_) {
    was_fed_ = false;
    const std::string reason = FollowOnce();
    transport_.reset();
    is_up_ = false;
    ShowState(LinkState::kConnect);
    if (has_yielded_) return owner_.TakeOver();
    while (awaits_yield_ && !ending_) Rest(kRestMax);
    if (ending_) return;
    Log(reason);
    if (referral_) continue;
    if (was_fed_) rest = kRestMin;
    Rest(rest);
    rest = std::min<Nanos>(2 * rest, kRestMax);
  }
}

// Two servers, each with a reason of its own, may be asked in turns.
void PrimaryLink::Log(const std::string& reason) {
  std::string line =
      absl::StrCat(EscapedForLog(asked_.host), ":", asked_.port, ": ", EscapedForLog(reason));
  if (logged_.size() >= kLoggedMax) logged_.clear();
  if (!logged_.insert(line).second) return;
  spdlog::warn("no link to the primary {}", line);
}

void PrimaryLink::Rest(Nanos time) {
  const HostInstant deadline = clock_.HostNow() + time;
  wakes_ = false;
  while (!wakes_ && !ending_ && clock_.HostNow() < deadline) RunUntil(deadline);
}

std::string PrimaryLink::FollowOnce() {
  const bool is_referred = referral_.has_value();
  asked_ = is_referred ? *std::exchange(referral_, std::nullopt) : primary_;
  asks_to_take_over_ = false;
  pending_.clear();
  was_answered_ = false;
  applies_ = false;
  reconnects_ = false;
  watches_input_ = false;
  has_input_ = false;
  owes_ack_ = false;
  ShowState(LinkState::kConnecting);
  if (std::string failed = Connect(); !failed.empty()) return failed;
  ShowState(LinkState::kHandshake);
  if (std::string failed = ShakeHands(); !failed.empty()) return failed;
  if (std::string failed = LogIn(); !failed.empty()) return failed;
  if (std::string failed = Sync(); !failed.empty()) {
    // A second referral in a row could lead back to the first server.
    if (!is_referred) NoteReferral(failed);
    return failed;
  }
  return Apply();
}

// Starts what takes time and waits for its end. After a timeout the link is over: its handler does
// nothing any more.
template <typename Start>
std::error_code PrimaryLink::Await(Start start, Nanos time) {
  const auto result = std::make_shared<std::optional<std::error_code>>();
  start([result](std::error_code error, auto&&...) { *result = error; });
  const HostInstant deadline = clock_.HostNow() + time;
  while (!*result && !ending_ && clock_.HostNow() < deadline) RunUntil(deadline);
  return result->value_or(asio::error::timed_out);
}

// Runs one handler, or none within that time.
void PrimaryLink::RunUntil(HostInstant deadline) {
  context_.run_one_for(std::max(deadline - clock_.HostNow(), Nanos{0}));
}

std::string PrimaryLink::ReasonOf(const std::error_code& error) const {
  if (error == asio::error::timed_out) return "the time is up";
  if (error == asio::error::eof) return "it has closed the connection";
  const std::string& tls = transport_ ? transport_->tls_failure() : std::string();
  return tls.empty() ? error.message() : absl::StrCat("TLS: ", tls);
}

std::string PrimaryLink::Connect() {
  std::vector<asio::ip::address> addresses;
  std::optional<HostLookUp> look_up;  // its answer is dropped at the end of the function
  std::error_code error = Await(
      [&](auto done) {
        look_up.emplace(asked_.host, context_, [&addresses, done](auto failed, auto& found) {
          addresses = found;
          done(failed);
        });
      },
      timeout());
  if (error) return ReasonOf(error);
  error = asio::error::host_not_found;
  for (const asio::ip::address& address : addresses) {
    const StreamEndpoint endpoint = tcp::endpoint(address, asked_.port);
    auto socket = std::make_shared<StreamSocket>(context_);
    error = Await(
        [&](auto done) {
          socket->async_connect(endpoint, [socket, done](std::error_code failed) { done(failed); });
        },
        timeout());
    std::error_code ignored;
    if (error) socket->close(ignored);
    if (ending_) return ReasonOf(error);
    if (error) continue;
    socket->set_option(tcp::no_delay(true), ignored);
    TlsSession session = tls_ != nullptr ? tls_->NewSession(socket->native_handle()) : nullptr;
    if (tls_ != nullptr && !session) return "TLS: there is no memory for it";
    transport_.emplace(std::move(*socket), std::move(session));
    return {};
  }
  return ReasonOf(error);
}

// Completes the handshake of TLS, which reading does.
std::string PrimaryLink::ShakeHands() {
  const HostInstant begun = clock_.HostNow();
  has_input_ = transport_->is_handshaking();  // It begins with a read, though nothing has come.
  while (transport_->is_handshaking()) {
    std::error_code error;
    const std::optional<std::size_t> received = ReceiveWithin(timeout(), error);
    if (error) return ReasonOf(error);
    if (received) pending_.append(input_.data(), *received);
    if (ending_ || clock_.HostNow() - begun >= timeout()) {
      return "it does not answer the TLS handshake: the time is up";
    }
  }
  return {};
}

std::string PrimaryLink::LogIn() {
  const Options options = settings_.All();  // which wipes its copy of the password
  std::vector<std::string> reply;
  if (options.primary_password.empty()) {
    // A server that wants a password refuses RL.SYNC for its length, which says less.
    const std::string failed = Ask(std::array<std::string_view, 1>{"PING"}, reply);
    const bool needs_password = failed.find("NOAUTH") != std::string::npos;
    return failed.starts_with(kItAnswers) && !needs_password ? std::string() : failed;
  }
  std::vector<std::string_view> words = {"AUTH"};
  if (!options.primary_user.empty()) words.push_back(options.primary_user);
  words.push_back(options.primary_password.text());
  return Ask(words, reply);
}

std::string PrimaryLink::Sync() {
  const Lineage history = owner_.history();
  SyncRequest request;
  request.oldest_version = kStreamVersionMin;
  request.newest_version = kStreamVersionMax;
  request.run_id = own_.run_id;
  const Options options = settings_.All();
  request.ip = options.replica_announce_ip.name;
  request.port = PortToAnnounce(options, own_.port);
  // A server that was told to follow does so even if its term is the higher one.
  request.term = was_told_ ? 0 : history.term;
  request.key_fingerprint = FingerprintOfSecret(limiter_.hasher());
  if (!history.id.empty()) request.from = {history.id, sink_.applied()};
  std::vector<std::string> reply;
  const std::vector<std::string> words = SyncWords(request);
  const std::vector<std::string_view> views(words.begin(), words.end());
  if (std::string failed = Ask(views, reply); !failed.empty()) return failed;
  const SyncAnswer answer = ReadSyncAnswer({.error = "", .words = std::move(reply)});
  return answer.error.empty() ? Begin(answer) : answer.error;
}

// Goes on from where the primary's history and ours part.
std::string PrimaryLink::Begin(const SyncAnswer& answer) {
  const Lineage history = owner_.history();
  if (!IsHistoryId(answer.replid) || answer.version != kStreamVersionMax) {
    return "it does not answer RL.SYNC as weir does";
  }
  const bool is_other = !history.id.empty() && answer.replid != history.id;
  if (!was_told_ && is_other && answer.term <= history.term) {
    return absl::StrCat("its term ", answer.term, " is not above ours, ", history.term,
                        ": it may have lost its state; REPLICAOF follows it all the same");
  }
  if (!answer.secret.empty()) {
    HashSecret secret;
    std::ranges::copy(answer.secret, secret.begin());
    const std::size_t dropped = limiter_.size().buckets;
    limiter_.StartOver(secret);
    spdlog::warn(
        "the primary hashes keys with another secret: this server takes it, and drops {} "
        "buckets",
        dropped);
    sink_.StartOver(answer.head, true);
  } else if (!answer.resume) {
    sink_.StartOver(answer.head, false);
  } else if (!sink_.Resume(answer.common, answer.replid == history.id)) {
    return absl::StrCat("it goes on at offset ", answer.common, ", and this server has only ",
                        sink_.applied());
  }
  {
    // Before the history has another id, so that no save says more of it than there is.
    MutexLock lock(mutex_);
    shown_ = sink_.shown();
    saving_.reset();
    saved_.reset();
    status_.primary = asked_;
  }
  asked_to_save_.reset();
  owner_.Join(asked_, answer.term, answer.replid);
  primary_ = asked_;
  was_told_ = false;
  shift_.Clear();
  spdlog::info("following {}:{} from offset {}{}", EscapedForLog(primary_.host), primary_.port,
               sink_.applied(), answer.resume ? "" : ", with a copy of its whole state");
  return {};
}

// An heir that is not the primary yet refers to this server.
void PrimaryLink::NoteReferral(std::string_view error) {
  referral_ = ReadReferral(StdView(absl::StripPrefix(AbslView(error), AbslView(kItAnswers))));
  if (referral_ && owner_.IsOwn(*referral_)) referral_.reset();
}

// Applies frames until the link fails.
std::string PrimaryLink::Apply() {
  applies_ = true;
  ShowState(LinkState::kSync);
  std::string out;
  sink_.AppendNeed(clock_.Now(), out);
  HostInstant heard = clock_.HostNow();
  owes_ack_ = true;  // after each read: a reply may wait for it
  std::string bytes = std::exchange(pending_, {});
  if (!bytes.empty()) {
    if (std::string failed = Take(bytes, heard); !failed.empty()) return failed;
  }
  asks_to_take_over_ = false;
  requests_sent_ = 0;
  while (!ending_ && !has_yielded_) {
    if (reconnects_) return "CLIENT KILL has ended the connection";
    if (std::exchange(owes_ack_, false)) AppendAck(out);
    // After the ACK: a primary yields only to a replica that says that it is in sync.
    if (std::exchange(asks_to_take_over_, false) && sink_.synced()) {
      sink_.AppendTakeover(clock_.Now(), out);
      ++requests_sent_;
      awaits_yield_ = true;
    }
    if (!out.empty()) {
      if (std::string failed = Send(out); !failed.empty()) return failed;
      out.clear();
    }
    std::error_code error;
    const std::optional<std::size_t> received = ReceiveWithin(timeout(), error);
    if (error) return ReasonOf(error);
    const HostInstant now = clock_.HostNow();
    if (received) {
      heard = now;
      owes_ack_ = true;
      if (std::string failed = Take({input_.data(), *received}, now); !failed.empty())
        return failed;
    } else if (now - heard >= timeout()) {
      return absl::StrCat("nothing has come for ",
                          std::chrono::floor<std::chrono::seconds>(timeout()).count(), " s");
    }
  }
  return {};
}

std::string PrimaryLink::Take(std::string_view bytes, HostInstant now) {
  const Instant primary_now = clock_.Now();  // unless this server stood still
  const bool goes_on = sink_.Receive(bytes);
  owner_.ReportDropped();
  if (goes_on && sink_.yielded()) {
    // The primary of a server that stood still may have gone on.
    if (follows_time_ && primary_now - sink_.newest_on_link() > kYieldAgeMax) {
      return "it has yielded to this server too long ago";
    }
    has_yielded_ = true;
  }
  if (awaits_yield_ && sink_.refusals() == requests_sent_) {
    awaits_yield_ = false;
    owner_.OnTakeoverRefused(request_);
  }
  if (sink_.newest_on_link() != Instant{}) {
    shift_.Note(sink_.newest_on_link(), now);
    if (std::exchange(follows_time_, true)) {
      clock_.SetShift(shift_.At(now));
    } else {
      clock_.Rebase(shift_.At(now));
    }
  }
  if (sink_.synced() && !std::exchange(was_fed_, true)) logged_.clear();
  if (sink_.synced() && !std::exchange(was_synced_, true)) {
    spdlog::info("this server has the whole state of its primary");
    owner_.NoteInSync();
  }
  is_up_ = was_synced_;
  {
    MutexLock lock(mutex_);
    last_io_ = now;
    exact_time_ = sink_.exact_time();
    shown_ = sink_.shown();
    status_.read_offset = sink_.applied();
    status_.partitions_left = sink_.partitions_left();
  }
  SaveWhatIsNew();
  ShowState(sink_.synced() ? LinkState::kConnected : LinkState::kSync);
  return goes_on ? std::string() : absl::StrCat("it sends ", sink_.error());
}

std::string PrimaryLink::Ask(std::span<const std::string_view> words,
                             std::vector<std::string>& reply) {
  if (std::string failed = Send(LinkRequest(words).text()); !failed.empty()) return failed;
  const HostInstant begun = clock_.HostNow();
  for (;;) {
    if (std::optional<LinkReply> read = ReadLinkReply(pending_)) {
      pending_.erase(0, read->bytes);
      was_answered_ = true;
      if (!read->error.empty()) return absl::StrCat(AbslView(kItAnswers), read->error);
      reply = std::move(read->words);
      return {};
    }
    std::error_code error;
    const std::optional<std::size_t> received = ReceiveWithin(timeout(), error);
    if (error == asio::error::eof && !was_answered_ && tls_ == nullptr) {
      return "it has closed the connection without an answer, as a TLS port does";
    }
    if (error) return ReasonOf(error);
    if (received) pending_.append(input_.data(), *received);
    if (ending_ || clock_.HostNow() - begun >= timeout()) return "the time is up";
  }
}

void PrimaryLink::AskToTakeOver(std::uint64_t request) {
  asio::post(context_, [this, request] {
    request_ = request;
    MutexLock lock(mutex_);
    asks_to_take_over_ = status_.state == LinkState::kConnected;
  });
}

void PrimaryLink::ForgetTakeover() {
  awaits_yield_ = false;
  asio::post(context_, [this] { wakes_ = true; });
}

void PrimaryLink::Reconnect() {
  asio::post(context_, [this] { reconnects_ = applies_; });
}

std::string PrimaryLink::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    std::error_code error;
    bytes.remove_prefix(transport_->Write(bytes, error));
    if (error == asio::error::would_block) {
      error = Await([&](auto done) { transport_->WaitToWrite(done); }, timeout());
    }
    if (error) return ReasonOf(error);
  }
  return {};
}

std::optional<std::size_t> PrimaryLink::ReceiveWithin(Nanos wait, std::error_code& error) {
  if (!has_input_ && !std::exchange(watches_input_, true)) {
    transport_->WaitToRead([this](std::error_code failed) {
      if (failed == asio::error::operation_aborted) return;
      watches_input_ = false;
      has_input_ = true;
    });
  }
  const HostInstant deadline = clock_.HostNow() + wait;
  while (!has_input_ && !ending_ && !asks_to_take_over_ && !reconnects_ && !owes_ack_ &&
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
  {
    MutexLock lock(mutex_);
    if (status_.up && !is_up_) down_since_ = clock_.HostNow();
    if (status_.state == state && status_.up == is_up_ && status_.complete == sink_.complete()) {
      return;
    }
  }
  // Before INFO says so: a client that has read that is answered.
  owner_.Show(sink_.complete(), is_up_);
  MutexLock lock(mutex_);
  status_.state = state;
  status_.up = is_up_;
  status_.complete = sink_.complete();
}

}  // namespace weir
