#include "server/session/session.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include <spdlog/spdlog.h>

#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "server/access/denial.h"
#include "server/commands/command_table.h"
#include "server/commands/unknown_command.h"
#include "server/os/log.h"
#include "server/session/call.h"
#include "server/session/waiter.h"
#include "server/state/edge_port.h"

namespace weir {

namespace {

void RunAtEdge(Call& call) { call.session.worker().edge->Run(call); }

}  // namespace

Session::Session(Worker& worker, std::shared_ptr<ClientRecord> record)
    : worker_(worker),
      client_(worker, std::move(record), parser_),
      delay_(worker.services, client_.shared_record()),
      work_(worker) {}

Session::~Session() { DropWaiter(); }

// An idle client must cost little memory, even after large commands.
void Session::OnSent() {
  if (client_.news()) client_.news()->outbox.OnSent();
  delayed_.ShrinkBuffers();
  parser_.ShrinkBuffers();
}

std::size_t Session::held_bytes() const {
  return client_.transaction().held_bytes() + (waiter_ ? waiter_->held_bytes() : 0) +
         (client_.news() ? client_.news()->subscriber.held_bytes() : 0);
}

void Session::Wait(std::unique_ptr<Waiter> waiter) {
  WEIR_CHECK(may_wait());
  WEIR_CHECK(!waiter_);
  waiter_ = std::move(waiter);
  worker_.services.waiters.fetch_add(1, std::memory_order_relaxed);
  client_.record().blocked.store(ClientRecord::Blocked::kYes, std::memory_order_relaxed);
}

void Session::DropWaiter() {
  worker_.thread.AssertHeld();
  if (!waiter_) return;
  waiter_.reset();
  WEIR_CHECK(worker_.services.waiters.fetch_sub(1, std::memory_order_relaxed) > 0);
}

void Session::EndWait(WaitEnd why) {
  if (why == WaitEnd::kClosing) {
    client_.EndPause();
    ending_ = true;
  }
  if (!waiter_ || (why == WaitEnd::kDemoted && !waiter_->is_of_primary())) return;
  DropWaiter();
  client_.record().blocked.store(ClientRecord::Blocked::kNo, std::memory_order_relaxed);
  wait_ended_ = why;
}

// Answers the waiting command. Returns false if it must wait longer.
bool Session::FinishWait(const Clock::Reading& at, RespWriter& reply) {
  using Blocked = ClientRecord::Blocked;
  if (waiter_) {
    std::atomic<Blocked>& blocked = client_.record().blocked;
    const bool is_ready = !waiter_->HasMoreWork(at) && at.host_now >= waiter_->ReadyAt(at);
    if (!is_ready && blocked.load(std::memory_order_relaxed) == Blocked::kYes) return false;
    AnswerWaiter(blocked.exchange(Blocked::kNo, std::memory_order_relaxed), at.now, reply);
    DropWaiter();
  } else if (const auto why = std::exchange(wait_ended_, std::nullopt)) {
    worker_.Fail(reply, why == WaitEnd::kDemoted ? kDemotedWaitError : kClosingWaitError);
  }
  return true;
}

// A waiter that is not served gives its tokens back, which is a change of the disk's only.
void Session::AnswerWaiter(ClientRecord::Blocked ended, Instant now, RespWriter& reply) {
  using Blocked = ClientRecord::Blocked;
  if (waiter_->has_changed()) delay_.AwaitSaveOfChange();
  if (waiter_->is_done()) ended = Blocked::kNo;
  if (ended == Blocked::kEndedAsTimeout) return waiter_->Withdraw(reply, now);
  if (ended == Blocked::kEndedAsError) {
    worker_.Fail(reply, "UNBLOCKED client unblocked via CLIENT UNBLOCK");
  } else if (waiter_->Serve(reply, now)) {
    if (waiter_->has_changed()) delay_.AwaitChange();
    return;
  }
  worker_.command_counters.Of(*client_.record().last_command.load()).failed.Add();
}

Session::Turn Session::Execute(std::string_view unread, std::string& out) {
  const Clock::Reading at = worker_.services.clock.Read();
  const auto [now, host_now] = at;
  ClientRecord& record = client_.record();
  record.last_active_ns.store(host_now.time_since_epoch().count(), std::memory_order_relaxed);
  RespWriter reply(out);
  reply.set_protocol(record.protocol.load(std::memory_order_relaxed));
  Turn turn;
  delayed_.Clear();
  if (record.killed.load(std::memory_order_relaxed)) return {.next = Next::kClose};
  if (has_news()) {
    client_.RefreshUser();
    AppendNews(out);
  }
  if (client_.is_closing()) return {.next = Next::kClose};
  const std::size_t out_begin = out.size();
  const HostInstant paused_until = PausedUntil(host_now);
  if (host_now < paused_until) return {.next = Next::kPause, .wake = paused_until};
  if (!FinishWait(at, reply)) return {.next = Next::kWait, .wake = waiter_->ReadyAt(at)};
  if (std::exchange(silent_wait_, false)) out.resize(out_begin);
  if (delay_.any()) AddDelayed(out_begin, out.size());
  work_.Begin();
  ReadAhead& ahead = worker_.read_ahead;
  WEIR_DCHECK(ahead.empty());
  while (!client_.is_closing() && !hand_over_) {
    const bool pausing = host_now < worker_.services.pause.until();
    if (pausing) client_.RefreshUser();  // IsHeldBack uses the user's rights
    if (work_.units() >= kWorkPerTurn || out.size() - out_begin >= kReplyBytesPerTurn) {
      turn.next = Next::kContinue;
      break;
    }
    if (ahead.empty()) {
      const ParseResult parsed =
          ahead.Fill(unread.substr(turn.consumed), parser_, worker_.services.limiter);
      if (parsed != ParseResult::kCommand) {
        turn.consumed += parser_.consumed();
        if (parsed == ParseResult::kNeedMore) break;
        EndStream(parsed, unread.substr(turn.consumed), reply);
        break;
      }
    }
    if (pausing && IsHeldBack(ahead.next())) {
      turn.next = Next::kWait;
      turn.wake = worker_.services.pause.until();
      break;
    }
    const ReadAhead::Command command = ahead.Pop(worker_.services.limiter);
    turn.consumed += command.bytes;
    const std::size_t begin = out.size();
    work_.BeginCommand();
    ExecuteUnlessSilent(command, now, out, reply);
    EndCommand();
    if (delay_.any()) AddDelayed(begin, out.size());
    if (hand_over_) break;
    if (!waiter_ && host_now >= client_.paused_until()) continue;
    turn.next = waiter_ ? Next::kWait : Next::kPause;
    turn.wake = waiter_ ? waiter_->ReadyAt(at) : client_.paused_until();
    break;
  }
  if (!ahead.empty()) ahead.Drop(parser_);
  if (hand_over_) turn.next = Next::kHandOver;
  if (client_.is_closing()) turn.next = Next::kClose;
  turn.completed = turn.consumed > 0;
  turn.had_secret = std::exchange(said_secret_, false);
  if (turn.had_secret) parser_.Wipe();
  EndTurn(turn, delayed_, out.size() - out_begin, host_now);
  return turn;
}

// Closes the conversation, because the next bytes are not a request.
void Session::EndStream(ParseResult parsed, std::string_view unread, RespWriter& reply) {
  worker_.counters["protocol_errors"].Add();
  if (parsed == ParseResult::kForeignProtocol) {
    LogForeign(unread);
  } else if (client_.replies() != ClientState::Replies::kOff) {
    worker_.Fail(reply, absl::StrCat("ERR ", AbslView(parser_.error())));
  }
  client_.Close();
}

HostInstant Session::PausedUntil(HostInstant now) const {
  constexpr std::chrono::milliseconds kLook{1};
  const bool is_held_back = worker_.edge && !ending_ && worker_.edge->is_full();
  return is_held_back ? std::max(client_.paused_until(), now + kLook) : client_.paused_until();
}

void Session::AppendNews(std::string& out) {
  News* const news = client_.news();
  if (!news) return;
  const std::string bytes = news->outbox.Take();
  worker_.counters["total_net_output_bytes"].Add(bytes.size());
  out += bytes;
}

Awaited Session::ExecuteAlone(const ReadAhead::Command& command, Instant now, RespWriter& reply,
                              VerdictReader* reader) {
  work_.BeginCommand();
  verdict_reader_ = reader;
  runs_alone_ = true;
  ExecuteCommand(command, now, reply);
  WEIR_DCHECK(!client_.transaction().is_open());
  runs_alone_ = false;
  verdict_reader_ = nullptr;
  EndCommand();
  return delay_.Take();
}

// A reply that depends on the expiry of a hold waits until that is on disk: a restart, whose clock
// may be earlier, must not find the hold open again.
void Session::EndCommand() noexcept {
  work_.ChargeVisits();
  if (work_.has_expired_holds()) delay_.AwaitSaveOfChange();
}

// An empty range belongs to a command that has no reply yet, or is silent. A silent one that an
// edge's primary owes a reply is waited for like others, so that a client's commands under way are
// those of one turn.
void Session::AddDelayed(std::size_t begin, std::size_t end) {
  const Awaited awaited = delay_.Take();
  std::shared_ptr<const LateReply> late_reply = delay_.TakeLateReply();
  if (begin == end && awaited.save != Awaited::Save::kUpstream) return;
  const CommandSpec* const spec = client_.record().last_command.load(std::memory_order_relaxed);
  delayed_.Add(begin, end, awaited, {spec, std::move(late_reply)});
}

void Session::FinishDelayed(std::string& replies, const WaitOutcome& outcome) {
  delayed_.Replace(
      replies, outcome,
      [&](const Delayed& command, std::string_view reply, Replaced why, std::string& out) {
        const LateReply* const late = command.late_reply.get();
        WEIR_CHECK((late != nullptr) == (why == Replaced::kByLateReply));
        const std::string error = late ? late->error : ErrorOfWait(why, outcome);
        std::string unheard;  // of a silent client
        std::string& heard = reply.empty() ? unheard : out;
        if (error.empty()) return static_cast<void>(heard += late->bytes);
        RespWriter writer(heard);
        worker_.Fail(writer, error);
        const bool is_error = reply.starts_with('-');  // It has counted as failed.
        if (!is_error) worker_.command_counters.Of(*command.spec).failed.Add();
      });
  if (worker_.edge) delayed_.Clear();  // The late replies may be long.
}

bool Session::lacks_replies() const {
  return !delayed_.AllOf([](const Delayed& command) { return command.late_reply->is_there; });
}

void Session::LogForeign(std::string_view request) {
  const auto suppressed = worker_.services.foreign_throttle.Admit();
  if (!suppressed) return;
  constexpr std::size_t kForeignBytesMax = 64;
  spdlog::warn(
      "closed client {}: it does not speak the Redis protocol: '{}' ({} similar lines suppressed)",
      client_.record().address, EscapedForLog(request.substr(0, kForeignBytesMax)), *suppressed);
}

bool Session::IsHeldBack(const ReadAhead::Command& command) const {
  const HostInstant until = worker_.services.pause.until();
  if (until == HostInstant{} || ending_ || worker_.services.clock.HostNow() >= until) return false;
  const auto& [words, spec, bytes, keys] = command;
  // Commands that end the pause, or the server, must run.
  if (!spec || spec->Is(kNoAuth) || spec->name == "SHUTDOWN" || spec->name.starts_with("CLIENT|")) {
    return false;
  }
  const User* const user = client_.user().get();
  const bool is_refused =
      !user || !spec->arity.Allows(words.size()) || FindDenial(*user, *spec, words);
  if (is_refused) return false;
  if (worker_.services.pause.what() == Pause::What::kEverything) return true;
  const auto changes = [](const CommandSpec* queued) { return queued->Is(kWrite); };
  return spec->Is(kWrite) ||
         (spec->name == "EXEC" && std::ranges::any_of(client_.transaction().queued(), changes));
}

// A reply that CLIENT REPLY suppresses is written and then removed, but for the confirmation of a
// subscription. Messages that are on their way come before that, and in the protocol of before
// HELLO.
void Session::ExecuteUnlessSilent(const ReadAhead::Command& command, Instant now, std::string& out,
                                  RespWriter& reply) {
  using Replies = ClientState::Replies;
  const bool is_pubsub = command.spec && command.spec->group == "pubsub";
  if (has_news() && (is_pubsub || (command.spec && command.spec->Is(kGreets)))) AppendNews(out);
  const std::size_t begin = out.size();
  ExecuteCommand(command, now, reply);
  const Transaction& transaction = client_.transaction();
  const int in_queue = transaction.is_open() ? static_cast<int>(transaction.queued().size()) : -1;
  client_.record().queued.store(in_queue, std::memory_order_relaxed);
  if (const Replies replies = client_.replies(); replies != Replies::kOn) {
    if (replies == Replies::kSkipThis) client_.set_replies(Replies::kOn);
    if (replies == Replies::kSkipThisAndNext) client_.set_replies(Replies::kSkipThis);
    silent_wait_ = waiter_ != nullptr;
    const bool confirms =
        is_pubsub && command.spec->Is(kWhileSubscribed) && out.size() > begin && out[begin] != '-';
    if (!confirms) out.resize(begin);
  }
  if (is_pubsub && has_news()) AppendNews(out);
}

void Session::Refuse(const CommandSpec* spec, std::string_view error, RespWriter& reply) {
  if (spec) worker_.command_counters.Of(*spec).rejected.Add();
  if (spec && spec->name == "EXEC") {
    client_.transaction() = Transaction();
    const absl::string_view why = absl::StripPrefix(AbslView(error), "ERR ");
    worker_.Fail(reply, absl::StrCat("EXECABORT Transaction discarded because of: ", why));
  } else {
    client_.transaction().Abort();
    worker_.Fail(reply, error);
  }
  work_.RestartStopwatch();
}

bool Session::IsSurelyPermitted(const CommandSpec& spec) const noexcept {
  const User* const user = client_.user().get();
  return spec.Is(kNoAuth) || (user && user->MayDoAll());
}

absl::Status Session::PermissionError(const CommandSpec& spec,
                                      std::span<const std::string_view> words,
                                      bool in_transaction) {
  if (IsSurelyPermitted(spec)) return absl::OkStatus();
  const User* const user = client_.user().get();
  if (!user) return absl::UnauthenticatedError("NOAUTH Authentication required.");
  const std::optional<Denial> denial = FindDenial(*user, spec, words);
  if (!denial) return absl::OkStatus();
  const bool of_command = denial->of == Denial::Of::kCommand;
  const std::string name = LowerName(spec);
  const HostInstant now = worker_.services.clock.HostNow();
  worker_.services.access_log.Add({.reason = denial->of,
                                   .in_transaction = in_transaction,
                                   .object = of_command ? name : std::string(denial->name),
                                   .user = user->name(),
                                   .client = client_.record().Line(now),
                                   .last = now});
  constexpr absl::string_view kNot = "NOPERM this user has no permissions to ";
  if (of_command) {
    return absl::PermissionDeniedError(absl::StrCat(kNot, "run the '", name, "' command"));
  }
  const absl::string_view what = denial->of == Denial::Of::kKey ? "keys" : "channels";
  return absl::PermissionDeniedError(
      absl::StrCat(kNot, "access one of the ", what, " used as arguments"));
}

void Session::ExecuteCommand(const ReadAhead::Command& command, Instant now, RespWriter& reply) {
  worker_.counters["total_commands_processed"].Add();
  work_.Charge(1);
  client_.RefreshUser();
  const auto& [words, spec, bytes, keys] = command;
  // Refused commands may contain a password, too, as does a misspelled AUTH.
  said_secret_ = said_secret_ || !spec || spec->Is(kSecret);
  if (!spec) return Refuse(nullptr, UnknownCommand(words), reply);
  if (!spec->arity.Allows(words.size())) return Refuse(spec, WrongArity(*spec), reply);
  client_.record().last_command.store(spec, std::memory_order_relaxed);
  if (!IsSurelyPermitted(*spec)) {
    const absl::Status why = PermissionError(*spec, words, client_.transaction().is_open());
    if (!why.ok()) return Refuse(spec, StdView(why.message()), reply);
  }
  if (client_.is_subscribed_in_resp2() && !spec->Is(kWhileSubscribed)) {
    return Refuse(spec,
                  absl::StrCat("ERR Can't execute '", LowerName(*spec),
                               "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET "
                               "are allowed in this context"),
                  reply);
  }
  if (client_.transaction().is_open()) return ExecuteInTransaction(command, now, reply);
  Call call{*spec, words, now, *this, reply, keys};
  Run(call);
}

void Session::ExecuteInTransaction(const ReadAhead::Command& command, Instant now,
                                   RespWriter& reply) {
  const auto& [words, spec, bytes, keys] = command;
  if (spec->Is(kAtOnce)) {
    const absl::Status why = spec->name == "EXEC" ? QueueError() : absl::OkStatus();
    if (!why.ok()) return Refuse(spec, StdView(why.message()), reply);
    Call call{*spec, words, now, *this, reply, keys};
    return Run(call);
  }
  if (spec->Is(kNotInTransaction)) {
    return Refuse(spec, "ERR Command not allowed inside a transaction", reply);
  }
  const absl::Status why = worker_.services.admission().StateError(spec->flags);
  if (!why.ok()) return Refuse(spec, StdView(why.message()), reply);
  const std::size_t units = Transaction::UnitsOf(*spec, words, worker_.services.policies);
  const absl::Status queued = client_.transaction().Queue(*spec, words, units);
  if (!queued.ok()) return Refuse(spec, absl::StrCat("ERR ", queued.message()), reply);
  reply.SimpleString("QUEUED");
  work_.RestartStopwatch();
}

absl::Status Session::QueueError() const {
  for (const CommandSpec* queued : client_.transaction().queued()) {
    WEIR_RETURN_IF_ERROR(worker_.services.admission().StateError(queued->flags));
  }
  return absl::OkStatus();
}

void Session::RunQueued(const CommandSpec& spec, std::span<const std::string_view> words,
                        Instant now, RespWriter& reply) {
  Call call{spec, words, now, *this, reply, {}, true};
  Run(call);
}

bool Session::RefusedNow(Call& call) {
  const absl::Status why = StateError(call);
  if (why.ok()) return false;
  worker_.command_counters.Of(call.spec).rejected.Add();
  call.ReplyError(StdView(why.message()));
  work_.RestartStopwatch();
  return true;
}

absl::Status Session::StateError(const Call& call) {
  if (worker_.edge) return absl::OkStatus();  // which decides by the row
  const CommandAdmission admission = worker_.services.admission();
  // EXEC has asked for all of its commands, so that it runs all of them or none.
  if (!call.queued) WEIR_RETURN_IF_ERROR(admission.StateError(call.spec.flags));
  if (call.spec.Is(kAlwaysChanges) && admission.refuses_changes()) {
    WEIR_RETURN_IF_ERROR(admission.ChangeError());
  }
  if (!call.queued) return absl::OkStatus();
  // A command that was permitted when it was queued may be forbidden now.
  return PermissionError(call.spec, call.words, true);
}

// Reads the stopwatch once a command: the end of a command is the beginning of the next.
void Session::Run(Call& call) {
  const bool may_run =
      !call.queued && !call.spec.Is(kAlwaysChanges) && worker_.services.admission().is_serving();
  Handler handler = call.spec.handler;
  if (!may_run) {
    if (RefusedNow(call)) return;
    if (worker_.edge) handler = RunAtEdge;
  }
  const Nanos begin = work_.command_begin();
  handler(call);
  work_.RestartStopwatch();
  const Nanos duration = std::max(work_.command_begin() - begin, Nanos{0});
  CommandCounters& counters = worker_.command_counters.Of(call.spec);
  counters.times.Count(duration);
  counters.nanos.Add(static_cast<std::uint64_t>(duration.count()));
  if (call.failed) counters.failed.Add();
  Observers& observers = worker_.services.observers;
  if (observers.AreInterested(duration)) observers.Show(call, duration);
}

}  // namespace weir
