#include "server/edge/edge_desk.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/commands/request_counters.h"
#include "core/commands/request_grammar.h"
#include "core/table/key_hash.h"
#include "core/words/word_reader.h"
#include "protocol/link_reply.h"
#include "protocol/reply_scanner.h"

namespace weir {
namespace {

// An error of a server that a client is to leave for another one.
bool IsOfNoPrimary(std::string_view reply) {
  constexpr std::array<std::string_view, 3> kErrors = {"-READONLY ", "-LOADING ", "-MASTERDOWN "};
  return reply.starts_with('-') && std::ranges::any_of(kErrors, [&](std::string_view error) {
           return reply.starts_with(error);
         });
}

bool DecidesHere(const CommandSpec& spec) { return spec.Is(kEdgeRuns) && spec.Is(kEdgePasses); }

}  // namespace

EdgeDesk::EdgeDesk(Worker& worker, asio::io_context& context, const SharedTlsContext* tls)
    : worker_(worker),
      link_(context, worker.services, tls, *this),
      edge_(*this, absl::StrCat(worker.services.run_id, ".", worker.services.workers.size()),
            RandomHashSecret()),
      timer_(context) {
  link_.Start();
}

void EdgeDesk::Run(Call& call) {
  const CommandSpec& spec = call.spec;
  if (!spec.Is(kEdgePasses)) {
    if (spec.Is(kEdgeRuns)) return RunHere(call);
    std::string name(spec.name);
    std::ranges::replace(name, '|', ' ');
    return call.ReplyError(
        absl::StrCat("EDGE send ", name, " to the primary, ", AddressText(link_.primary())));
  }
  if (!call.session.may_wait()) return call.ReplyError(kEdgeError);
  // Both hands of the clock show the same, since an edge follows no time but its host's. The turn
  // may have begun before a slow command of it.
  now_ = std::max(now_, HostInstant{call.now.time_since_epoch()});
  constexpr std::size_t kWordsOfOneLimit = 3;  // as at a server
  if (call.words.size() > kWordsOfOneLimit) call.Charge(call.words.size() - kWordsOfOneLimit);
  if (spec.Is(kEdgeRuns)) return Allow(call);
  if (!link_.is_up()) return AnswerAway(call);
  PassOn(call, {});
}

void EdgeDesk::RunHere(Call& call) {
  if (call.spec.Is(kFast)) return call.spec.handler(call);
  ShowNumbers();
  call.spec.handler(call);
  ReadClock();  // No slice that ends meanwhile is spent behind it.
}

void EdgeDesk::Allow(Call& call) {
  const EdgeAnswer answer = edge_.Decide(call.arguments(), ++last_ticket_, now_);
  switch (answer.kind) {
    case EdgeAnswer::Kind::kVerdict:
      Count(call.arguments().front(), answer);
      WriteEdgeVerdict(call.reply, answer);
      break;
    case EdgeAnswer::Kind::kWaits: {
      Waiting& waiting = waiting_[last_ticket_];
      waiting.asked = AskedBy(call);
      waiting.key = call.arguments().front();
      AppendRequest(call.words, waiting.request);
      break;
    }
    case EdgeAnswer::Kind::kPassOn:
      PassOn(call, answer.passed_on);
      break;
    case EdgeAnswer::Kind::kAway:
      AnswerAway(call);
      break;
  }
  WakeAll();
  ArmTimer();
}

void EdgeDesk::Count(std::string_view key, const EdgeAnswer& answer) {
  RequestCounters& counters = worker_.request_counters;
  (answer.allowed() ? counters.allowed : counters.denied).Add();
  if (answer.allowed()) return;
  const KeyHash hash = worker_.services.limiter.hasher()(key);
  counters.denied_keys.Add(key, hash.hash, hash.partition);
}

void EdgeDesk::PassOn(Call& call, const PassedOn& passed_on) {
  // A reply that may be long, or a link that is full, ends the turn.
  if (!call.spec.Is(kFast) || is_full()) call.Charge(kWorkPerTurn);
  AppendRequest(call.words, link_.Output());
  Expect(AskedBy(call), passed_on);
}

EdgeDesk::Asked EdgeDesk::AskedBy(Call& call) const {
  auto reply = std::make_shared<LateReply>();
  call.AwaitUpstream(reply);
  return {.spec = &call.spec,
          .reply = std::move(reply),
          .client = call.client().shared_record(),
          .protocol = call.reply.protocol(),
          .in_place = ReadInPlace(call)};
}

void EdgeDesk::Expect(std::optional<Asked> asked, const PassedOn& passed_on) {
  if (asked) numbers_.passed_on.Add();
  expected_.push_back({.asked = std::move(asked), .passed_on = passed_on, .sent = now_});
  ArmTimer();
}

void EdgeDesk::Send(std::span<const std::string_view> words) {
  AppendRequest(words, link_.Output());
  Expect(std::nullopt, {});
}

void EdgeDesk::Answer(std::uint64_t ticket, const EdgeAnswer& answer) {
  const auto found = waiting_.find(ticket);
  WEIR_CHECK(found != waiting_.end());
  Waiting waiting = std::move(found->second);
  waiting_.erase(found);
  if (answer.kind == EdgeAnswer::Kind::kPassOn) {
    link_.Output() += waiting.request;
    return Expect(std::move(waiting.asked), answer.passed_on);
  }
  if (answer.kind == EdgeAnswer::Kind::kAway) return AnswerAway(waiting.asked);
  if (!answer.is_counted) Count(waiting.key, answer);
  RespWriter writer(waiting.asked.reply->bytes);
  writer.set_protocol(waiting.asked.protocol);
  WriteEdgeVerdict(writer, answer);
  Finish(waiting.asked);
}

void EdgeDesk::AnswerAway(Call& call) {
  const std::optional<EdgeAnswer> verdict = AwayVerdict(ReadInPlace(call));
  if (!verdict) return call.ReplyError(NoPrimary());
  WriteEdgeVerdict(call.reply, *verdict);
}

void EdgeDesk::AnswerAway(Asked& asked) {
  if (const std::optional<EdgeAnswer> verdict = AwayVerdict(asked.in_place)) {
    RespWriter writer(asked.reply->bytes);
    WriteEdgeVerdict(writer, *verdict);
  } else {
    asked.reply->error = NoPrimary();
  }
  Finish(asked);
}

EdgeDesk::InPlace EdgeDesk::ReadInPlace(const Call& call) const {
  const Services& services = worker_.services;
  if (!DecidesHere(call.spec)) return InPlace::kNoPrimary;
  if (services.settings.Get(&Options::edge_away) == EdgeAway::kError) return InPlace::kNoPrimary;
  const absl::StatusOr<ParsedRequest> request =
      ParseRequest(call.arguments(), worker_.memo, KeyHashes(services.limiter.hasher(), call.keys));
  if (!request.ok() && !absl::IsNotFound(request.status())) return InPlace::kNoPrimary;
  // Without AT, which is the primary's alone, it is the last word.
  const bool with_limits = KeywordOf(call.words.back()) == Keyword::kWithLimits;
  return with_limits ? InPlace::kVerdictWithLimits : InPlace::kVerdict;
}

std::optional<EdgeAnswer> EdgeDesk::AwayVerdict(InPlace in_place) {
  EdgeAway away = worker_.services.settings.Get(&Options::edge_away);
  if (in_place == InPlace::kNoPrimary) away = EdgeAway::kError;
  EdgeAnswer answer;
  answer.with_limits = in_place == InPlace::kVerdictWithLimits;  // without rows
  switch (away) {
    case EdgeAway::kClosed:
      numbers_.away_closed.Add();
      answer.numbers = {0, 0, -1, 0, 0};
      return answer;
    case EdgeAway::kOpen:
      numbers_.away_open.Add();
      answer.numbers = {1, 0, 0, 0, 0};
      return answer;
    case EdgeAway::kError:
      break;
  }
  numbers_.away_error.Add();
  return std::nullopt;
}

std::string EdgeDesk::NoPrimary() const {
  return absl::StrCat("NOPRIMARY the primary of this edge is away, ", AddressText(link_.primary()));
}

// A slice that is asked for now comes too late, and lapses.
void EdgeDesk::Leave() {
  has_left_ = true;  // A timer that has expired is in the loop's queue, and can't be cancelled.
  timer_.cancel();
  if (link_.is_up()) {
    ReadClock();
    edge_.OnChange({.kind = OperatorChange::Kind::kAll}, now_);
  }
  link_.Leave();
}

void EdgeDesk::OnUp(const PrimaryFacts& facts) {
  numbers_.term = facts.term;
  numbers_.is_connected = true;
  edge_.OnLinkUp(now_);
  ArmTimer();
}

void EdgeDesk::OnReply(std::string_view reply) {
  if (expected_.empty()) return link_.Cut("it answers without being asked");
  if (IsOfNoPrimary(reply)) return link_.Cut("it is no primary any more, or loads its state");
  Expected expected = std::move(expected_.front());
  expected_.pop_front();
  heard_ = now_;
  if (!expected.asked) return edge_.OnReply(reply, now_);
  if (DecidesHere(*expected.asked->spec)) {
    edge_.OnPassedReply(expected.passed_on, reply, now_);
  }
  LateReply& late = *expected.asked->reply;
  if (reply.front() == '-') {
    late.error = reply.substr(1, reply.find("\r\n") - 1);
    if (late.error.empty()) late.error = "ERR";  // An empty one would be no error.
  } else if (expected.asked->protocol == 2) {
    AppendAsResp2(reply, late.bytes);
  } else {
    late.bytes = reply;
  }
  Finish(*expected.asked);
}

// The edge subscribes to nothing yet.
void EdgeDesk::OnPush(std::string_view /*message*/) {}

void EdgeDesk::OnQuiet() {
  WakeAll();
  ArmTimer();
}

// What was sent may have been charged, as with any reply that is lost.
void EdgeDesk::OnDown() {
  numbers_.is_connected = false;
  ReadClock();
  edge_.OnLinkLost(now_);
  for (Expected& expected : std::exchange(expected_, {})) {
    if (expected.asked) AnswerAway(*expected.asked);
  }
  WakeAll();
  ArmTimer();
}

// Memory for a long reply counts as its client's until the connection says what that has. A reply
// that no session holds any more is dropped.
void EdgeDesk::Finish(Asked& asked) {
  constexpr std::size_t kShortReply = 256;
  asked.reply->is_there = true;
  const std::size_t bytes = asked.reply->bytes.size();
  if (bytes > kShortReply && asked.reply.use_count() > 1) {
    const std::size_t held = asked.client->held_bytes.load(std::memory_order_relaxed);
    worker_.services.client_memory.Set(*asked.client, held + bytes);
  }
  if (to_wake_.empty() || to_wake_.back() != asked.client) {
    to_wake_.push_back(std::move(asked.client));
  }
}

void EdgeDesk::WakeAll() {
  for (const std::shared_ptr<ClientRecord>& client : to_wake_) client->Wake();
  to_wake_.clear();
}

HostInstant EdgeDesk::silence_end() const {
  const Nanos ack_timeout = worker_.services.settings.Get(&Options::ack_timeout);
  const Nanos silence = std::max({Nanos{kEdgeSilenceMax}, 8 * edge_.rtt(), 2 * ack_timeout});
  return std::max(expected_.front().sent, heard_) + silence;
}

void EdgeDesk::ArmTimer() {
  if (has_left_) return;
  HostInstant due = edge_.next_tick().value_or(kHostInstantMax);
  if (!expected_.empty()) due = std::min(due, silence_end());
  if (due == kHostInstantMax || (timer_at_ && *timer_at_ <= due)) return;
  timer_at_ = due;
  timer_.expires_after(due - HostNow());
  timer_.async_wait([this](std::error_code error) {
    if (!error && !has_left_) OnTimer();
  });
}

void EdgeDesk::OnTimer() {
  timer_at_.reset();
  ReadClock();
  if (!expected_.empty() && now_ >= silence_end()) {
    link_.Cut("it does not answer");
  }
  if (const std::optional<HostInstant> tick = edge_.next_tick(); tick && now_ >= *tick) {
    edge_.Tick(now_);
    ShowNumbers();
  }
  WakeAll();
  ArmTimer();
}

void EdgeDesk::ShowNumbers() {
  const EdgeCounts& counts = edge_.counts();
  numbers_.decided_locally_allowed = counts.allowed;
  numbers_.decided_locally_denied = counts.denied;
  numbers_.asks = counts.asks;
  numbers_.granted = counts.granted;
  numbers_.spent = counts.spent;
  numbers_.settled = counts.settled;
  numbers_.wasted = counts.wasted;
  numbers_.forms = edge_.forms();
  numbers_.in_hand = static_cast<std::uint64_t>(edge_.in_hand());
  const Nanos rtt = link_.is_up() ? edge_.rtt() : Nanos{0};
  numbers_.rtt_us = static_cast<std::uint64_t>(rtt / std::chrono::microseconds{1});
}

void BecomeEdge(IoThread& thread, const SharedTlsContext* tls) {
  thread.BecomeEdge([tls](Worker& worker, asio::io_context& context) {
    return std::make_unique<EdgeDesk>(worker, context, tls);
  });
}

}  // namespace weir
