#include "weir/core/engine.h"

#include <unistd.h>

#include <cstddef>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

#include "weir/core/answer.h"
#include "weir/core/causes.h"
#include "weir/core/decision_reader.h"
#include "weir/core/timer.h"
#include "weir/errors.h"
#include "weir/wire/wire.h"

namespace weir::client {
namespace {

constexpr std::size_t kLinksMax = 16;
constexpr std::size_t kWaitsMax = 16;
constexpr milliseconds kTimeMax = std::chrono::hours(24);

// Never destroys what is of the parent process, as its threads are not there to be joined.
void Leave(std::shared_ptr<const void> of_parent) {
  static auto* const kLeft = new std::vector<std::shared_ptr<const void>>();
  kLeft->push_back(std::move(of_parent));
}

}  // namespace

Engine::Engine(const Settings& settings)
    : settings_(settings),
      counters_(settings),
      process_(getpid()),
      wire_(std::make_shared<Wire>(settings, kLinksMax, WhenFull::kQueue)),
      waits_(std::make_shared<Wire>(settings, kWaitsMax, WhenFull::kRefuse)),
      timers_(std::make_shared<Timers>()) {}

Engine::~Engine() { Close(); }

Request Engine::ReadRequest(const Words& words) {
  try {
    return Request(words);
  } catch (const Mistake&) {
    counters_.AddMistake();
    throw;
  }
}

milliseconds Engine::CheckTime(const std::string& what, milliseconds time, milliseconds min) {
  if (time >= min && time <= kTimeMax) return time;
  counters_.AddMistake();
  throw Mistake(what + " is " + std::to_string(min.count()) + " ms at least, and a day at most");
}

Decision Engine::DecideOrKeep(const Request& request, Question question) {
  const Clock::time_point now = Now();
  const std::string name =
      Denials::NameOf(request.words(), question.with_rows || request.has_several_keys());
  if (std::optional<Decision> kept = denials_.Find(name, now)) {
    counters_.AddKept();
    return *std::move(kept);
  }
  Decision decision = Decide(request, std::move(question));
  if (decision.reason == Reason::kDenied || decision.reason == Reason::kNever) {
    denials_.Keep(name, now, decision);
  }
  return decision;
}

Decision Engine::Decide(const Request& request, Question question) {
  Words words = {std::string(question.command)};
  words.insert(words.end(), question.words.begin(), question.words.end());
  words.insert(words.end(), question.options.begin(), question.options.end());
  if (question.with_rows || request.has_several_keys()) {  // to know which key was denied
    words.emplace_back("WITHLIMITS");
  }
  const bool is_slice = question.command == kSliceCommand;
  CallResult result;
  Decision decision;
  try {
    result = Call(words, question.sending);
    if (result.reply) {
      decision =
          is_slice ? ReadSlice(*result.reply, request) : ReadDecision(*result.reply, request);
    }
  } catch (const Mistake& mistake) {
    if (!is_slice || !IsUnknownCommand(mistake.what())) counters_.AddMistake(/*is_asked=*/true);
    throw;
  }
  if (!result.reply) return WithoutAnswer(result.cause);
  counters_.AddDecision(decision);
  return decision;
}

Decision Engine::WithoutAnswer(std::string_view cause) {
  counters_.AddUnavailable(cause, Now());
  Decision decision;
  decision.allowed = settings_.fail == Fail::kOpen;
  decision.reason = Reason::kUnavailable;
  decision.cause = cause;
  return decision;
}

CallResult Engine::Call(const Words& words, const Sending& sending) {
  Wire& wire = sending.apart ? *waits_ : *wire_;
  const milliseconds timeout = sending.timeout.value_or(settings_.deadline);
  CheckUsable();
  const Afterwards afterwards = sending.keeps_connection ? Afterwards::kKeep : Afterwards::kClose;
  for (int tries = sending.tries;;) {
    Answer answer = wire.Ask(words, timeout, afterwards);
    switch (answer.kind) {
      case Answer::Kind::kReply:
        has_succeeded_ = true;
        return {.reply = std::move(answer.reply)};
      case Answer::Kind::kLost:
        if (--tries > 0 && !is_closed_) continue;
        return {.cause = answer.cause, .text = answer.text};
      case Answer::Kind::kRefused: {
        const std::string_view cause = CauseOf(answer, has_succeeded_);
        if (cause.empty()) throw Mistake(answer.text);
        return {.cause = cause, .text = answer.text};
      }
    }
  }
}

std::function<void()> Engine::StartTimer(milliseconds period, std::function<void()> function) {
  try {
    if (settings_.every) return settings_.every(period, std::move(function));
    return timers_->Start(period, std::move(function));
  } catch (const std::system_error&) {
    return [] {};
  }
}

void Engine::Close() {
  if (is_in_child()) {
    wire_->Abandon();
    waits_->Abandon();
    Leave(wire_);
    Leave(waits_);
    Leave(timers_);
    return;
  }
  is_closed_ = true;
  wire_->Close();
  waits_->Close();
  timers_->Close();
}

void Engine::CheckUsable() const {
  if (is_in_child()) throw Mistake("the Limiter was made before fork(): the child makes its own");
  if (is_closed_) throw Mistake("the Limiter is closed");
}

bool Engine::is_in_child() const { return getpid() != process_; }

Limited LimitedBy(const Decision& decision, const Request& request) {
  const std::size_t limit = decision.limit.value_or(0);
  const std::size_t group = limit < decision.limits.size() ? decision.limits[limit].group : 0;
  return {request.key(group), decision};
}

std::string RandomId() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::random_device random;
  std::string id;
  for (int word = 0; word < 4; ++word) {
    auto bits = random();
    for (int digit = 0; digit < 8; ++digit, bits >>= 4) id.push_back(kDigits[bits & 0xF]);
  }
  return id;
}

}  // namespace weir::client
