#include "server/session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include <spdlog/spdlog.h>

#include "core/quote.h"
#include "core/status.h"
#include "server/command.h"
#include "server/command_table.h"
#include "server/log.h"
#include "server/waiter.h"

namespace weir {
namespace {

constexpr std::size_t kForeignBytesMax = 64;            // of another protocol's that are logged
constexpr std::size_t kUnknownArgumentsBytesMax = 128;  // of an unknown command's that are echoed

// As Redis words it; clients match on the beginning.
std::string UnknownCommand(std::span<const std::string_view> words) {
  std::string arguments;
  for (const std::string_view word : words.subspan(1)) {
    if (arguments.size() >= kUnknownArgumentsBytesMax) break;
    const std::string_view head = word.substr(0, kUnknownArgumentsBytesMax - arguments.size());
    absl::StrAppend(&arguments, "'", AbslView(head), "' ");
  }
  return absl::StrCat("ERR unknown command '", AbslView(words[0].substr(0, kQuotedBytesMax)),
                      "', with args beginning with: ", arguments);
}

std::string UnknownSubcommand(const CommandSpec& container, std::string_view subcommand) {
  return absl::StrCat("ERR unknown subcommand '", AbslView(subcommand.substr(0, kQuotedBytesMax)),
                      "'. Try ", AbslView(container.name), " HELP.");
}

std::string WrongArity(const CommandSpec& spec) {
  return absl::StrCat("ERR wrong number of arguments for '",
                      absl::AsciiStrToLower(AbslView(spec.name)), "' command");
}

}  // namespace

Session::Session(Worker& worker, std::shared_ptr<ClientRecord> record)
    : worker_(worker), record_(std::move(record)) {}

Session::~Session() = default;

void Session::Wait(std::unique_ptr<Waiter> waiter) { waiter_ = std::move(waiter); }

void Session::EndWait() {
  if (!waiter_) return;
  waiter_.reset();
  wait_ended_ = true;
}

// Answers the command that has been waited for. Returns false if it has to be waited for still.
bool Session::FinishWait(Instant now, RespWriter& reply) {
  if (waiter_) {
    if (now < waiter_->ready()) return false;
    waiter_->Serve(reply, now);
    waiter_.reset();
    AwaitSaveOfChange();
  } else if (std::exchange(wait_ended_, false)) {
    worker_.counters.errors.Add();
    reply.Error("UNBLOCKED the server is shutting down");
  }
  return true;
}

Session::Turn Session::Execute(std::string_view unread, std::string& out) {
  const Instant now = worker_.services.clock.Now();
  record_->last_active_ns.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  RespWriter reply(out);
  reply.set_protocol(record_->protocol.load(std::memory_order_relaxed));
  const std::size_t out_begin = out.size();
  Turn turn;
  work_ = 0;
  unsaved_.clear();
  if (!FinishWait(now, reply)) return {.next = Next::kWait, .wake = waiter_->ready()};
  NoteUnsaved(out_begin, out.size());
  while (!closing_) {
    if (work_ >= kWorkPerTurn || out.size() - out_begin >= kReplyBytesPerTurn) {
      turn.next = Next::kContinue;
      break;
    }
    const ParseResult parsed = parser_.Parse(unread.substr(turn.consumed));
    turn.consumed += parser_.consumed();
    if (parsed == ParseResult::kNeedMore) break;
    if (parsed == ParseResult::kCommand) {
      const std::size_t begin = out.size();
      ExecuteCommand(parser_.words(), now, reply);
      NoteUnsaved(begin, out.size());
      if (!waiter_) continue;
      turn.next = Next::kWait;
      turn.wake = waiter_->ready();
      break;
    }
    worker_.counters.protocol_errors.Add();
    if (parsed == ParseResult::kProtocolError) {
      worker_.counters.errors.Add();
      reply.Error(absl::StrCat("ERR ", AbslView(parser_.error())));
    } else {
      LogForeign(unread.substr(turn.consumed));
    }
    closing_ = true;
  }
  if (closing_) turn.next = Next::kClose;
  AskForSave(turn);
  worker_.counters.input_bytes.Add(turn.consumed);
  worker_.counters.output_bytes.Add(out.size() - out_begin);
  return turn;
}

void Session::AwaitSaveOfChange() noexcept {
  const StateOnDisk* state = worker_.services.state;
  if (state && state->always()) awaited_ = Awaited::kSaveOfChange;
}

// An empty one is that of a command that has no reply yet.
void Session::NoteUnsaved(std::size_t begin, std::size_t end) {
  const Awaited awaited = std::exchange(awaited_, Awaited::kNothing);
  if (awaited != Awaited::kNothing && begin < end) unsaved_.push_back({begin, end, awaited});
}

void Session::AskForSave(Turn& turn) {
  if (unsaved_.empty()) return;
  turn.sendable = unsaved_.front().begin;
  for (Unsaved& reply : unsaved_) {
    reply.begin -= turn.sendable;
    reply.end -= turn.sendable;
  }
  turn.ticket = worker_.services.state->RequestSave();
}

void Session::ReplaceUnsaved(std::string& replies, std::string_view reason, bool changes) const {
  std::string replaced;
  RespWriter writer(replaced);
  std::size_t copied = 0;
  for (const Unsaved& reply : unsaved_) {
    if (reply.awaited == Awaited::kSaveOfChange && !changes) continue;
    replaced.append(replies, copied, reply.begin - copied);
    writer.Error(CannotSave(reason));
    worker_.counters.errors.Add();
    copied = reply.end;
  }
  replaced.append(replies, copied);
  replies = std::move(replaced);
}

void Session::LogForeign(std::string_view request) {
  const auto held_back = worker_.services.foreign_throttle.Admit();
  if (!held_back) return;
  spdlog::warn(
      "closed client {}: it does not speak the Redis protocol: '{}' ({} such lines held back)",
      record_->address, EscapedForLog(request.substr(0, kForeignBytesMax)), *held_back);
}

void Session::ExecuteCommand(std::span<const std::string_view> words, Instant now,
                             RespWriter& reply) {
  Counters& counters = worker_.counters;
  counters.commands.Add();
  Charge(1);
  const auto refuse = [&](std::string_view error) {
    counters.errors.Add();
    reply.Error(error);
  };
  const CommandSpec* spec = FindCommand(words[0]);
  // "CLIENT|ID" is a row's name, but not what a client says to run it.
  if (!spec || IsSubcommand(*spec)) return refuse(UnknownCommand(words));
  if (spec->Is(kContainer) && words.size() > 1) {
    const CommandSpec* subcommand = FindSubcommand(*spec, words[1]);
    if (!subcommand) return refuse(UnknownSubcommand(*spec, words[1]));
    spec = subcommand;
  }
  if (!spec->arity.Allows(words.size())) return refuse(WrongArity(*spec));
  const Services& services = worker_.services;
  if (services.loading() && !spec->Is(kLoading)) {
    return refuse("LOADING weir is loading its state from disk");
  }
  if (spec->Is(kAlwaysChanges) && services.state && services.state->refuses_changes()) {
    return refuse(CannotSave(services.state->status().error));
  }
  record_->last_command.store(spec, std::memory_order_relaxed);
  Call call{*spec, words, now, *this, reply};
  spec->handler(call);
}

}  // namespace weir
