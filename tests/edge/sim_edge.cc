#include "tests/edge/sim_edge.h"

#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/rules/decision.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

// What a check of times may be off: a promise in whole milliseconds, and clocks that drift.
constexpr Nanos kSlack = milliseconds{4};

std::int64_t NumberAfter(const std::vector<std::string>& words, std::string_view name) {
  std::int64_t number = 0;
  const auto word = std::ranges::find(words, name);
  WEIR_CHECK(word != words.end() && absl::SimpleAtoi(*(word + 1), &number));
  return number;
}

std::vector<std::string_view> Views(std::span<const std::string> words) {
  return {words.begin(), words.end()};
}

std::string GuessedReply(std::int64_t units) {
  return absl::StrCat("*8\r\n:", units,
                      "\r\n:0\r\n:0\r\n:0\r\n:0\r\n:250000\r\n:9223372036854775807\r\n*1\r\n*9\r\n"
                      "$4\r\n10/s\r\n:1\r\n:10\r\n:0\r\n:0\r\n:0\r\n:0\r\n:1\r\n:0\r\n");
}

}  // namespace

EdgeSimulation::SimEdge::SimEdge(EdgeSimulation& sim, std::size_t index)
    : sim_(sim),
      index_(index),
      offset_(std::chrono::seconds{sim.Below(1'000'000)} - std::chrono::seconds{500'000}),
      drift_(500 * (sim.Below(3) - 1)) {
  Start();
}

void EdgeSimulation::SimEdge::Start() {
  ++link_;
  is_up_ = false;
  const int run = sim_.bug_ == EdgeBug::kIds ? 0 : ++run_;
  edge_ = std::make_unique<Edge>(*this, absl::StrCat("e", index_, "-", run), HashSecret{});
  life_ = sim_.lives_++;
  waiting_.clear();
  asks_.clear();
  expected_.clear();
  denied_.clear();
  slice_of_.clear();
  Mend();
}

HostInstant EdgeSimulation::SimEdge::LocalTime() const {
  const Nanos since = sim_.now() - sim_.begin_;
  return HostInstant{sim_.now() + offset_ + since * drift_ / 1'000'000};
}

std::vector<std::string> EdgeSimulation::SimEdge::WordsOf(std::size_t form,
                                                          std::int64_t units) const {
  std::vector<std::string> words = sim_.forms_[form].words;
  if (units > 1) words.insert(words.end(), {"COST", absl::StrCat(units)});
  return words;
}

std::size_t EdgeSimulation::SimEdge::FormOf(std::span<const std::string> words) const {
  const auto form = std::ranges::find_if(sim_.forms_, [&](const SimForm& known) {
    return std::ranges::equal(known.words,
                              words.first(std::min(words.size(), known.words.size()))) &&
           words[known.words.size()] == "NEED";
  });
  WEIR_CHECK(form != sim_.forms_.end());
  return static_cast<std::size_t>(form - sim_.forms_.begin());
}

// --- Requests ---

void EdgeSimulation::SimEdge::Ask(std::size_t form, std::int64_t units, bool with_limits) {
  std::vector<std::string> words = WordsOf(form, units);
  if (with_limits) words.push_back("WITHLIMITS");
  const Waiting request = {form, units};
  asked_units_[form].emplace_back(sim_.now(), units);
  const std::uint64_t ticket = ++last_ticket_;
  waiting_.emplace(ticket, request);  // before it is known: the ask may leave at once
  const EdgeAnswer answer = edge_->Decide(Views(words), ticket, LocalTime());
  ArmTick();
  if (answer.kind == EdgeAnswer::Kind::kWaits) {
    ++sim_.tally_.waited;
    return;
  }
  waiting_.erase(ticket);
  if (answer.kind == EdgeAnswer::Kind::kPassOn) return PassOn(words, request, answer.passed_on);
  if (answer.kind == EdgeAnswer::Kind::kVerdict) {
    ++(answer.allowed() ? sim_.tally_.local_admissions : sim_.tally_.local_denials);
    if (with_limits && answer.rows.size() != sim_.forms_[form].limits.size()) {
      sim_.Fail("rows are missing");
    }
  }
  TakeVerdict(request, answer, nullptr);
}

void EdgeSimulation::SimEdge::AskBoth(std::size_t first, std::size_t second) {
  std::vector<std::string> words = WordsOf(first, 1);
  words.push_back("AND");
  std::ranges::copy(WordsOf(second, 1), std::back_inserter(words));
  for (const std::size_t form : {first, second}) asked_units_[form].emplace_back(sim_.now(), 1);
  const EdgeAnswer answer = edge_->Decide(Views(words), 0, LocalTime());
  ArmTick();
  if (answer.kind == EdgeAnswer::Kind::kPassOn) return PassOn(words, std::nullopt, {});
  if (answer.kind != EdgeAnswer::Kind::kVerdict) return;
  if (!answer.allowed()) sim_.Fail("E6 a request with AND was denied");
  ++sim_.tally_.joined;
  for (const std::size_t form : {first, second}) TakeVerdict({form, 1}, answer, nullptr);
}

void EdgeSimulation::SimEdge::PassOn(std::vector<std::string> words, std::optional<Waiting> one,
                                     PassedOn passed_on) {
  ++sim_.tally_.passed_on;
  Deliver(Arrival(false), [this, words = std::move(words), one, passed_on]() mutable {
    const SimReply reply = sim_.primary_.Allow(Views(words), sim_.Now());
    const Nanos charged = sim_.now();
    Deliver(Arrival(true), [this, words, one, passed_on, reply, charged]() mutable {
      if (one && reply.granted == 1) {
        sim_.spends_.push_back({charged, one->units, one->form, std::nullopt, charged});
      }
      if (!one && reply.granted == 1) sim_.SpendBoth(words, charged);
      if (one && reply.granted == 0 && !reply.is_error) {
        denied_[one->form] = {one->units, SumOf(charged, reply.retry_after), false, charged};
      }
      if (sim_.bug_ == EdgeBug::kCost) passed_on.units = 1;
      edge_->OnPassedReply(passed_on, reply.bytes, LocalTime());
      ArmTick();
    });
  });
}

void EdgeSimulation::SimEdge::TakeVerdict(const Waiting& request, const EdgeAnswer& answer,
                                          Asked* asked) {
  const bool is_open = answer.kind == EdgeAnswer::Kind::kAway && sim_.bug_ == EdgeBug::kOpen;
  if (answer.kind == EdgeAnswer::Kind::kAway && !is_open) {
    ++sim_.tally_.away;
    return;
  }
  if (!is_open && !answer.allowed()) return CheckDenial(request);
  if (asked && request.units <= asked->left) {
    asked->left -= request.units;
    if (asked->slice) sim_.slices_[*asked->slice].left = asked->left;
    sim_.spends_.push_back(
        {asked->charged, request.units, request.form, std::nullopt, asked->charged});
  } else if (is_open) {
    sim_.spends_.push_back({sim_.now(), request.units, request.form, std::nullopt, sim_.now()});
  } else {
    sim_.spends_.push_back({sim_.now(), request.units, request.form, life_, {}});
  }
}

// E6.
void EdgeSimulation::SimEdge::CheckDenial(const Waiting& request) {
  const auto found = denied_.find(request.form);
  if (found == denied_.end()) return sim_.Fail("E6 an edge denies what the primary has not");
  const Denied& denied = found->second;
  if (request.units < denied.units) return sim_.Fail("E6 a smaller cost is denied");
  if (answered_ != nullptr) return;  // by the very reply
  const Nanos paced = denied.decided + 2 * (kPace + longest_rtt_);
  const Nanos until = denied.may_be_paced ? std::max(denied.until, paced) : denied.until;
  if (sim_.now() - kSlack > until) sim_.Fail("E6 an edge denies for longer than was promised");
}

// --- What the edge sends ---

void EdgeSimulation::SimEdge::Send(std::span<const std::string_view> words) {
  WEIR_CHECK(is_up_);
  const std::vector<std::string> tail(words.begin() + 1, words.end());
  expected_.push_back(words.front() == "RL.SLICE");
  return words.front() == "RL.SLICE" ? SendAsk(tail) : SendCommit(tail);
}

void EdgeSimulation::SimEdge::SendAsk(std::vector<std::string> words) {
  Asked asked = {.form = FormOf(words), .id = words[words.size() - 3]};
  asked.unit = NumberAfter(words, "UNIT");
  if (sim_.bug_ == EdgeBug::kHoard) *(std::ranges::find(words, "UPTO") + 1) = "1000000";
  asked.upto = NumberAfter(words, "UPTO");
  if (asked.upto > 1) CheckAhead(asked.form, asked.upto - NumberAfter(words, "NEED"));
  for (const auto& [ticket, request] : waiting_) {
    if (request.form == asked.form) asked.needed.insert(ticket);
  }
  asks_.push_back(asked);
  const Nanos sent = sim_.now();
  Deliver(Arrival(false), [this, words, asked, sent]() mutable {
    const Nanos arrival = Arrival(true);
    asked.reply =
        sim_.primary_.Slice(Views(words), sim_.Now(), Instant{sent}, arrival - sim_.now());
    asked.left = asked.reply.granted;
    asked.charged = sim_.now();
    asked.changes = sim_.primary_.changes();
    const Nanos end = sim_.now() + asked.reply.life;
    if (sim_.bug_ == EdgeBug::kCancel && asked.left > 0 && asked.reply.life > Nanos{0}) {
      sim_.events_.At(end - Nanos{1'000}, [this, key = words.front(), id = asked.id] {
        sim_.primary_.Commit(std::array<std::string_view, 5>{key, "COST", "0", "HOLD", id},
                             sim_.Now());
      });
    }
    Deliver(arrival, [this, asked] { TakeSlice(asked); });
  });
}

void EdgeSimulation::SimEdge::TakeSlice(Asked asked) {
  asks_.pop_front();
  expected_.pop_front();
  const SimReply& reply = asked.reply;
  const Nanos end = asked.charged + reply.life;
  if (reply.granted > 0 && reply.life > Nanos{0}) {
    sim_.granted_units_[asked.id] = reply.granted;
    const bool is_new = sim_.granted_ids_.insert(asked.id).second;
    if (!is_new) asked.left = 0;
    asked.slice = slice_of_[asked.id] = sim_.slices_.size();
    sim_.slices_.push_back({life_, asked.form, asked.left, asked.charged, sim_.now(), end});
    sim_.longest_life_ = std::max(sim_.longest_life_, reply.life);
    ++sim_.tally_.slices;
  }
  if (!reply.is_error && reply.life == Nanos{0}) ++sim_.tally_.not_sliced;
  const auto heard = heard_.find(asked.form);
  const bool is_void = heard != heard_.end() && asked.changes < heard->second;
  denied_.erase(asked.form);
  if (reply.retry_after > Nanos{0} && !is_void) {
    denied_[asked.form] = {asked.unit, SumOf(asked.charged, reply.retry_after),
                           reply.life > Nanos{0} && reply.retry_after <= kPace, asked.charged};
  }
  answered_ = &asked;
  edge_->OnReply(reply.bytes, LocalTime());
  answered_ = nullptr;
  ArmTick();
  if (!asked.slice) return;
  if (sim_.bug_ == EdgeBug::kSpendOn && sim_.Chance(.3)) {
    sim_.events_.At(sim_.now() + milliseconds{30},
                    [this, slice = *asked.slice] { sim_.slices_[slice].end = sim_.now(); });
  }
  if (sim_.now() < sim_.end_ && sim_.Chance(.03)) sim_.Attack(*this, end);
}

void EdgeSimulation::SimEdge::SendCommit(const std::vector<std::string>& words) {
  const std::string& id = words.back();
  const auto found = slice_of_.find(id);
  if (found == slice_of_.end()) return sim_.Fail("E4 what was never granted is settled");
  SimSlice& slice = sim_.slices_[found->second];
  const std::int64_t used = NumberAfter(words, "COST");
  const auto [first, is_new] = committed_.emplace(id, used);
  ++(is_new ? sim_.tally_.commits : sim_.tally_.resent);
  if (first->second != used) sim_.Fail("E4 a slice is settled in two ways");
  if (is_new) {
    const std::int64_t granted = sim_.granted_units_.at(id);
    if (used > granted) sim_.Fail("E4 more is used than was granted");
    slice.left -= granted - used;
    if (slice.left < 0) sim_.Fail("E4 what was used is given back");
    slice.end = std::min(slice.end, sim_.now() + Nanos{1});  // not before what was just spent
  }
  Deliver(Arrival(false), [this, words] {
    const SimReply reply = sim_.primary_.Commit(Views(words), sim_.Now());
    Deliver(Arrival(true), [this, reply] {
      expected_.pop_front();
      edge_->OnReply(reply.bytes, LocalTime());
    });
  });
}

void EdgeSimulation::SimEdge::Answer(std::uint64_t ticket, const EdgeAnswer& answer) {
  const auto found = waiting_.find(ticket);
  WEIR_CHECK(found != waiting_.end());
  const Waiting request = found->second;
  waiting_.erase(found);
  if (answer.kind == EdgeAnswer::Kind::kPassOn) {
    return PassOn(WordsOf(request.form, request.units), request, answer.passed_on);
  }
  const bool is_needed = answered_ != nullptr && answered_->needed.contains(ticket);
  TakeVerdict(request, answer, is_needed ? answered_ : nullptr);
}

// E8. The demand is that of a slot, which is no shorter than PACE, and of the last three.
void EdgeSimulation::SimEdge::CheckAhead(std::size_t form, std::int64_t ahead) {
  longest_rtt_ = std::max(longest_rtt_, edge_->rtt());
  std::deque<std::pair<Nanos, std::int64_t>>& asked = asked_units_[form];
  const Nanos since = sim_.now() - 3 * std::max(kPace, longest_rtt_) - 5 * kSlack;
  while (!asked.empty() && asked.front().first < since) asked.pop_front();
  std::int64_t units = 0;
  for (const auto& [at, of_one] : asked) units += of_one;
  if (ahead > units * (2 * longest_rtt_ + 2 * kPace) / kPace + 1) {
    sim_.Fail(
        absl::StrCat("E8 ", ahead, " units are asked for ahead, and ", units, " were lately"));
  }
}

// --- The link ---

Nanos EdgeSimulation::SimEdge::Arrival(bool is_back) {
  Nanos& last = last_arrival_[is_back ? 1 : 0];
  return last = std::max(last, sim_.now() + sim_.Delay());
}

void EdgeSimulation::SimEdge::Deliver(Nanos at, std::function<void()> happens) {
  sim_.events_.At(at, [this, link = link_, happens = std::move(happens)] {
    if (link == link_) happens();
  });
}

void EdgeSimulation::SimEdge::Cut() {
  if (!is_up_) return;
  ++link_;
  sim_.tally_.cut_asks += static_cast<std::int64_t>(asks_.size());
  if (sim_.bug_ == EdgeBug::kGuess) {
    while (!expected_.empty() && !asks_.empty()) {
      const bool is_ask = expected_.front();
      expected_.pop_front();
      edge_->OnReply(is_ask ? GuessedReply(asks_.front().upto) : "*0\r\n", LocalTime());
      if (is_ask) asks_.pop_front();
    }
  }
  is_up_ = false;
  asks_.clear();
  expected_.clear();
  edge_->OnLinkLost(LocalTime());
}

void EdgeSimulation::SimEdge::Mend() {
  if (is_up_ || (sim_.bug_ == EdgeBug::kStuck && link_ > 1)) return;
  ++link_;
  is_up_ = true;
  last_arrival_[0] = last_arrival_[1] = sim_.now();
  denied_.clear();
  heard_.clear();
  edge_->OnLinkUp(LocalTime());
  ArmTick();
}

void EdgeSimulation::SimEdge::Hear(const OperatorChange& change, const std::string& name,
                                   std::size_t first, std::size_t forms) {
  OperatorChange told = change;
  told.name = name;
  Deliver(Arrival(true), [this, told, name, first, forms]() mutable {
    told.name = name;
    if (edge_->in_hand() > 0) ++sim_.tally_.changes;
    for (std::size_t form = first; form < first + forms; ++form) {
      denied_.erase(form);
      heard_[form] = told.changes;
    }
    edge_->OnChange(told, LocalTime());
  });
}

void EdgeSimulation::SimEdge::ArmTick() {
  longest_rtt_ = std::max(longest_rtt_, edge_->rtt());
  const std::optional<HostInstant> due = edge_->next_tick();
  if (!due || tick_is_armed_ || sim_.bug_ == EdgeBug::kHoard) return;
  tick_is_armed_ = true;
  sim_.events_.At(sim_.now() + std::max(*due - LocalTime(), Nanos{0}) + milliseconds{1}, [this] {
    tick_is_armed_ = false;
    edge_->Tick(LocalTime());
    ArmTick();
  });
}

}  // namespace weir
