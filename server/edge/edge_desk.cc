#include "server/edge/edge_desk.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "protocol/link_reply.h"
#include "protocol/reply_scanner.h"

namespace weir {
namespace {

constexpr int kRttWeight = 8;  // of what was measured before, against one measurement

bool DecidesHere(const CommandSpec& spec) { return spec.Is(kEdgeRuns) && spec.Is(kEdgePasses); }

}  // namespace

EdgeDesk::EdgeDesk(Worker& worker, asio::io_context& context, const SharedTlsContext* tls)
    : worker_(worker), link_(context, worker.services, tls, *this), timer_(context) {
  link_.Start();
}

void EdgeDesk::Run(Call& call) {
  const CommandSpec& spec = call.spec;
  if (spec.Is(kEdgePasses) && !call.session.may_wait()) return call.ReplyError(kEdgeError);
  if (spec.Is(kEdgePasses)) return PassOn(call);
  if (spec.Is(kEdgeRuns)) return spec.handler(call);
  call.ReplyError(absl::StrCat("EDGE send ", AbslView(spec.name), " to the primary, ",
                               AddressText(link_.primary())));
}

void EdgeDesk::PassOn(Call& call) {
  if (!link_.is_up()) {
    if (const std::optional<VerdictReply> verdict = AwayVerdict(call.spec)) {
      return call.reply.ArrayOf(verdict->size(), *verdict);
    }
    return call.ReplyError(NoPrimary());
  }
  numbers_.passed_on.Add();
  constexpr std::size_t kWordsOfOneLimit = 3;  // as at a server
  if (call.words.size() > kWordsOfOneLimit) call.Charge(call.words.size() - kWordsOfOneLimit);
  // A reply that may be long, or a link that is full, ends the turn.
  if (!call.spec.Is(kFast) || link_.unsent_bytes() >= kEdgeUnsentBytesMax) {
    call.Charge(kWorkPerTurn);
  }
  AppendRequest(call.words, link_.Output());
  auto reply = std::make_shared<LateReply>();
  call.AwaitUpstream(reply);
  expected_.push_back({.reply = std::move(reply),
                       .client = call.client().shared_record(),
                       .spec = &call.spec,
                       .sent = worker_.services.clock.HostNow()});
  ArmTimer();
}

std::optional<EdgeDesk::VerdictReply> EdgeDesk::AwayVerdict(const CommandSpec& spec) {
  EdgeAway away = worker_.services.settings.Get(&Options::edge_away);
  if (!DecidesHere(spec)) away = EdgeAway::kError;
  switch (away) {
    case EdgeAway::kClosed:
      numbers_.away_closed.Add();
      return VerdictReply{0, 0, -1, 0, 0};
    case EdgeAway::kOpen:
      numbers_.away_open.Add();
      return VerdictReply{1, 0, 0, 0, 0};
    case EdgeAway::kError:
      break;
  }
  numbers_.away_error.Add();
  return std::nullopt;
}

std::string EdgeDesk::NoPrimary() const {
  return absl::StrCat("NOPRIMARY the primary of this edge is away, ", AddressText(link_.primary()));
}

void EdgeDesk::Leave() {
  link_.Leave();
  timer_.cancel();
}

void EdgeDesk::OnUp(const PrimaryFacts& facts) {
  numbers_.term = facts.term;
  numbers_.is_connected = true;
}

void EdgeDesk::OnReply(std::string_view reply) {
  if (expected_.empty()) return link_.Cut("it answers without being asked");
  Expected expected = std::move(expected_.front());
  expected_.pop_front();
  if (!read_at_) read_at_ = worker_.services.clock.HostNow();
  const Nanos time = *read_at_ - expected.sent;
  rtt_ = rtt_ == Nanos{0} ? time : rtt_ + (time - rtt_) / kRttWeight;
  if (!expected.reply) return;
  if (reply.front() == '-') {
    expected.reply->error = reply.substr(1, reply.find("\r\n") - 1);
  } else if (expected.client->protocol.load(std::memory_order_relaxed) == 2) {
    AppendAsResp2(reply, expected.reply->bytes);
  } else {
    expected.reply->bytes = reply;
  }
  Finish(expected);
}

// The edge subscribes to nothing yet.
void EdgeDesk::OnPush(std::string_view /*message*/) {}

void EdgeDesk::OnQuiet() {
  read_at_.reset();
  numbers_.rtt_us = static_cast<std::uint64_t>(rtt_ / std::chrono::microseconds{1});
  WakeAll();
  ArmTimer();
}

// What was sent may have been charged, as with any reply that is lost.
void EdgeDesk::OnDown() {
  numbers_.is_connected = false;
  read_at_.reset();
  for (Expected& expected : std::exchange(expected_, {})) {
    if (!expected.reply) continue;
    if (const std::optional<VerdictReply> verdict = AwayVerdict(*expected.spec)) {
      RespWriter(expected.reply->bytes).ArrayOf(verdict->size(), *verdict);
    } else {
      expected.reply->error = NoPrimary();
    }
    Finish(expected);
  }
  WakeAll();
}

void EdgeDesk::Finish(Expected& expected) {
  expected.reply->is_there = true;
  if (to_wake_.empty() || to_wake_.back() != expected.client) {
    to_wake_.push_back(std::move(expected.client));
  }
}

void EdgeDesk::WakeAll() {
  for (const std::shared_ptr<ClientRecord>& client : to_wake_) client->Wake();
  to_wake_.clear();
}

void EdgeDesk::ArmTimer() {
  if (expected_.empty()) return;
  const HostInstant due = expected_.front().sent + silence_max();
  if (timer_at_ && *timer_at_ <= due) return;
  timer_at_ = due;
  timer_.expires_after(due - worker_.services.clock.HostNow());
  timer_.async_wait([this](std::error_code error) {
    if (!error) OnTimer();
  });
}

void EdgeDesk::OnTimer() {
  timer_at_.reset();
  const HostInstant now = worker_.services.clock.HostNow();
  if (!expected_.empty() && now >= expected_.front().sent + silence_max()) {
    return link_.Cut("it does not answer");
  }
  ArmTimer();
}

void BecomeEdge(IoThread& thread, const SharedTlsContext* tls) {
  thread.BecomeEdge([tls](Worker& worker, asio::io_context& context) {
    return std::make_unique<EdgeDesk>(worker, context, tls);
  });
}

}  // namespace weir
