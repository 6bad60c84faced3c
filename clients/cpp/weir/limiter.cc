#include "weir/limiter.h"

#include <algorithm>
#include <ostream>

#include "weir/core/address.h"
#include "weir/core/engine.h"
#include "weir/core/hold_state.h"
#include "weir/core/lease_state.h"
#include "weir/core/settings.h"
#include "weir/core/slice_state.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

// The Decision of a command that keeps no denials.
Decision Look(client::Engine& engine, std::string_view command, const Words& words,
              Details details) {
  return engine.Decide(engine.ReadRequest(words),
                       {.command = command, .words = words, .with_rows = details == Details::kYes});
}

// Whether it is a command RL.*, none of which changes the connection as AUTH, MULTI or MONITOR do.
bool IsOfLimits(std::string_view command) {
  return command.size() > 3 && (command[0] == 'R' || command[0] == 'r') &&
         (command[1] == 'L' || command[1] == 'l') && command[2] == '.';
}

}  // namespace

Limiter::Limiter(const std::string& url) : Limiter(Options{.url = url}) {}

Limiter::Limiter(const Options& options)
    : engine_(std::make_shared<client::Engine>(client::Check(options))) {}

Limiter::~Limiter() {
  if (engine_) engine_->Close();
}

Decision Limiter::Allow(const Words& words, Details details) {
  return engine_->DecideOrKeep(
      engine_->ReadRequest(words),
      {.command = "RL.ALLOW", .words = words, .with_rows = details == Details::kYes});
}

Decision Limiter::Peek(const Words& words, Details details) {
  return Look(*engine_, "RL.PEEK", words, details);
}

Decision Limiter::Charge(const Words& words, Details details) {
  return Look(*engine_, "RL.CHARGE", words, details);
}

Decision Limiter::Refund(const Words& words, Details details) {
  return Look(*engine_, "RL.REFUND", words, details);
}

Decision Limiter::Wait(milliseconds timeout, const Words& words, Details details) {
  timeout = engine_->CheckTime("the timeout of a wait", timeout, milliseconds(0));
  return engine_->Decide(engine_->ReadRequest(words),
                         {.command = "RL.WAIT",
                          .words = words,
                          .options = {"TIMEOUT", std::to_string(timeout.count())},
                          .with_rows = details == Details::kYes,
                          .sending = {.timeout = timeout + deadline(), .apart = true}});
}

Outcome<Hold> Limiter::Reserve(milliseconds ttl, const Words& words,
                               std::optional<std::int64_t> estimate) {
  auto state = std::make_unique<client::HoldState>(engine_, ttl, words, estimate);
  if (std::optional<weir::Limited> limited = state->Reserve()) return *std::move(limited);
  return Hold(std::move(state));
}

Outcome<weir::Lease> Limiter::Lease(milliseconds ttl, const Words& words) {
  auto state = std::make_shared<client::LeaseState>(engine_, ttl, words);
  if (std::optional<weir::Limited> limited = state->Open()) return *std::move(limited);
  return weir::Lease(std::move(state));
}

weir::Slice Limiter::Slice(std::int64_t size, milliseconds time, const Words& words) {
  return weir::Slice(std::make_shared<client::SliceState>(engine_, size, time, words));
}

Reply Limiter::Command(const Words& words) {
  if (words.empty()) throw Mistake("a command has at least one word");
  client::CallResult result = engine_->Call(words, {.keeps_connection = IsOfLimits(words[0])});
  if (!result.reply) throw Unavailable(result.cause, result.text);
  return *std::move(result.reply);
}

void Limiter::Verify(const Words& words) {
  Words asked = client::Request(words).words();
  asked.insert(asked.begin(), "RL.PEEK");
  const milliseconds timeout = std::max(deadline(), client::kConnectTime);
  const client::CallResult result = engine_->Call(asked, {.timeout = timeout});
  if (!result.reply) throw Unavailable(result.cause, result.text);
}

Counts Limiter::counts() const { return engine_->counters().counts(); }

void Limiter::Close() { engine_->Close(); }

std::string Limiter::address() const { return client::ToString(engine_->settings().address); }

Fail Limiter::fail() const { return engine_->settings().fail; }

milliseconds Limiter::deadline() const { return engine_->settings().deadline; }

std::optional<weir::Limited> Limiter::Ask(const Words& words) {
  const Decision decision = Allow(words);
  if (decision.allowed) return {};
  return client::LimitedBy(decision, client::Request(words));
}

std::ostream& operator<<(std::ostream& out, const Limiter& limiter) {
  return out << "Limiter " << limiter.address() << ", fails "
             << (limiter.fail() == Fail::kOpen ? "open" : "closed") << ", within "
             << limiter.deadline().count() << " ms";
}

}  // namespace weir
