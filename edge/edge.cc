#include "edge/edge.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr Nanos kRttMin = milliseconds{1};

// The policy of a word @NAME, or @NAME with more; nothing for another word.
bool NamesPolicy(std::string_view word, std::string_view policy) {
  if (!word.starts_with('@') || word.substr(1, policy.size()) != policy) return false;
  return word.size() == 1 + policy.size() || word[1 + policy.size()] == ',';
}

// Adds the answer of the next group: the fewest tokens left decide.
void JoinGroup(EdgeAnswer& one, std::size_t group, EdgeAnswer& all) {
  enum Number : std::size_t { kAllowed, kRemaining, kRetry, kReset };
  constexpr std::size_t kGroupOfRow = 5;
  for (EdgeAnswer::Row& row : one.rows) row.numbers[kGroupOfRow] = static_cast<std::int64_t>(group);
  if (group == 0) {
    all = std::move(one);
    return;
  }
  const std::int64_t reset = std::max(all.numbers[kReset], one.numbers[kReset]);
  if (one.numbers[kRemaining] < all.numbers[kRemaining]) all.numbers = one.numbers;
  all.numbers[kReset] = reset;
  all.rows.insert(all.rows.end(), one.rows.begin(), one.rows.end());
}

// Whether the change may concern the form; any may if the edge has not learned its words.
bool Concerns(const OperatorChange& change, const Form& form) {
  const std::vector<std::string_view> words = WordsOfForm(form.text);
  if (change.kind == OperatorChange::Kind::kAll || words.empty()) return true;
  if (change.kind == OperatorChange::Kind::kKey) return words.front() == change.name;
  return std::any_of(words.begin() + 1, words.end(),
                     [&](std::string_view word) { return NamesPolicy(word, change.name); });
}

}  // namespace

Edge::Edge(Host& host, std::string_view run, const HashSecret& secret)
    : host_(host), run_(run), hasher_(secret) {
  WEIR_CHECK(run_.size() <= kEdgeRunBytesMax);
}

// --- Requests ---

EdgeAnswer Edge::Decide(std::span<const std::string_view> words, std::uint64_t ticket,
                        HostInstant now) {
  const std::optional<EdgeRequest> request = ReadEdgeRequest(words);
  if (!request) return PassOn();
  EdgeAnswer answer = request->groups.size() == 1
                          ? DecideOne(request->groups.front(), request->with_limits, ticket, now)
                          : DecideAll(*request, now);
  if (answer.kind == EdgeAnswer::Kind::kVerdict) CountLocal(answer);
  return answer;
}

EdgeAnswer Edge::DecideOne(const EdgeGroup& group, bool with_limits, std::uint64_t ticket,
                           HostInstant now) {
  const std::uint64_t hash = HashOf(group);
  const bool is_hot = filter_.Count(hash, now, rtt_);
  Form* form = forms_.Use(hash);
  if (form) {
    form->state.Count(group.units, now, rtt_);
    DropEnded(*form, now);
    if (form->state.Covers(group.units)) {
      EdgeAnswer answer = form->state.Spend(group.units, with_limits, now);
      counts_.spent += static_cast<std::uint64_t>(group.units);
      Renew(*form, now);
      return answer;
    }
    if (form->state.Denies(group.units, now) && (!with_limits || form->state.KnowsRows())) {
      EdgeAnswer answer = form->state.Denial(group.units, with_limits, now);
      Renew(*form, now);
      return answer;
    }
  }
  const PassedOn passed_on = {.form = hash, .units = group.units, .sent = now};
  if (!is_up_) return {};
  const bool may_wait = form && form->state.is_asked();
  const bool may_ask = is_hot && group.may_be_sliced && !(form && form->state.is_not_sliced(now));
  if (!may_wait && !may_ask) return PassOn(passed_on);
  if (!form) {
    form = AddForm(hash, now);
    if (!form) return PassOn(passed_on);
    form->state.Count(group.units, now, rtt_);
  }
  LearnText(*form);
  form->state.Wait({ticket, group.units, with_limits});
  Renew(*form, now);
  return {.kind = EdgeAnswer::Kind::kWaits};
}

// All groups are taken from what is in hand, or none. Nothing is asked for ahead unless all are
// hot, the primary slices them, and none is denied: slices of some would be idle beside the others.
EdgeAnswer Edge::DecideAll(const EdgeRequest& request, HostInstant now) {
  absl::InlinedVector<Form*, 4> forms;
  bool is_covered = true;
  bool are_hot = true;
  bool is_denied = false;
  for (const EdgeGroup& group : request.groups) {
    const std::uint64_t hash = HashOf(group);
    const bool is_hot = filter_.Count(hash, now, rtt_);
    Form* const form = forms_.Find(hash);
    if (form) DropEnded(*form, now);
    is_covered = is_covered && form && form->state.Covers(group.units) &&
                 std::ranges::count(forms, form) == 0;
    are_hot = are_hot && is_hot && group.may_be_sliced && !(form && form->state.is_not_sliced(now));
    is_denied = is_denied || (form && form->state.Denies(group.units, now));
    forms.push_back(form);
  }
  EdgeAnswer answer = PassOn();
  if (is_covered) {
    std::int64_t limits = 0;
    for (std::size_t i = 0; i < forms.size(); ++i) {
      const std::int64_t units = request.groups[i].units;
      EdgeAnswer one = forms[i]->state.Spend(units, request.with_limits, now);
      counts_.spent += static_cast<std::uint64_t>(units);
      one.numbers.back() += limits;
      limits += static_cast<std::int64_t>(forms[i]->state.limits());
      JoinGroup(one, i, answer);
    }
  }
  if (!are_hot || is_denied) return answer;
  for (const EdgeGroup& group : request.groups) AskAhead(group, now);
  return answer;
}

// Counts what is asked of a hot group, whose form may be new, and asks for it if that is due.
void Edge::AskAhead(const EdgeGroup& group, HostInstant now) {
  const std::uint64_t hash = HashOf(group);
  Form* form = forms_.Use(hash);
  if (!form && is_up_) form = AddForm(hash, now);
  if (!form) return;
  form->state.Count(group.units, now, rtt_);
  LearnText(*form);
  Renew(*form, now);
}

std::uint64_t Edge::HashOf(const EdgeGroup& group) {
  WriteFormText(group, text_);
  return hasher_(text_).hash;
}

// Keeps the text that was hashed last, by which the form can be asked for.
void Edge::LearnText(Form& form) {
  if (!form.text.empty()) return;
  form.text = text_;
  forms_.Measure(form);
}

EdgeAnswer Edge::PassOn(const PassedOn& passed_on) const {
  if (!is_up_) return {};
  return {.kind = EdgeAnswer::Kind::kPassOn, .passed_on = passed_on};
}

Form* Edge::AddForm(std::uint64_t hash, HostInstant now) {
  while (forms_.is_full()) {
    Form& oldest = forms_.forms().back();
    if (oldest.state.is_asked()) return nullptr;
    DropEnded(oldest, now);
    Return(oldest, oldest.state.TakeAll(), now);
    forms_.DropOldest();
  }
  Form& form = forms_.Add(hash);
  form.state.Count(0, now, rtt_);
  return &form;
}

// --- Words to the primary ---

void Edge::Renew(Form& form, HostInstant now) {
  if (!is_up_ || form.text.empty()) return;
  const std::optional<SliceAsk> ask = form.state.TryAsk(now, rtt_);
  if (!ask) return;
  const Sent sent = {.form = &form, .slice = ++last_slice_, .at = now};
  const std::array numbers = {absl::StrCat(ask->need), absl::StrCat(ask->unit),
                              absl::StrCat(ask->upto), absl::StrCat(CeilMillis(ask->life))};
  const std::string id = HoldId(sent.slice);
  std::vector<std::string_view> words = {"RL.SLICE"};
  std::ranges::copy(WordsOfForm(form.text), std::back_inserter(words));
  words.insert(words.end(), {"NEED", numbers[0], "UNIT", numbers[1], "UPTO", numbers[2], "HOLD", id,
                             "TTL", numbers[3]});
  ++counts_.asks;
  in_flight_.push_back(sent);
  host_.Send(words);
}

void Edge::Return(const Form& form, std::span<const Slice> slices, HostInstant now) {
  for (const Slice& slice : slices) {
    counts_.settled += static_cast<std::uint64_t>(slice.left);
    const std::string key(WordsOfForm(form.text).front());
    const auto [unsettled, is_new] =
        unsettled_.emplace(slice.number, Unsettled{key, slice.used, slice.stop});
    WEIR_DCHECK(is_new);
    if (is_up_) SendCommit(slice.number, unsettled->second, now);
  }
}

void Edge::SendCommit(std::uint64_t slice, const Unsettled& unsettled, HostInstant now) {
  const std::string used = absl::StrCat(unsettled.used);
  const std::string id = HoldId(slice);
  in_flight_.push_back({.slice = slice, .at = now});
  host_.Send(std::array<std::string_view, 6>{"RL.COMMIT", unsettled.key, "COST", used, "HOLD", id});
}

std::string Edge::HoldId(std::uint64_t slice) const { return absl::StrCat(run_, "-", slice); }

// --- Replies ---

void Edge::OnReply(std::string_view reply, HostInstant now) {
  WEIR_CHECK(!in_flight_.empty());
  const Sent sent = in_flight_.front();
  in_flight_.pop_front();
  MeasureRtt(sent.at, now);
  if (sent.form) return TakeAskReply(sent, reply, now);
  // Settled; or the hold is unknown, as after a reset, and then nothing is due.
  unsettled_.erase(sent.slice);
}

void Edge::TakeAskReply(const Sent& sent, std::string_view reply, HostInstant now) {
  Form& form = *sent.form;
  DropEnded(form, now);
  const std::optional<SliceReply> granted = ReadSliceReply(reply);
  if (!granted) {
    form.state.MarkNotSliced(now + kNotSlicedFor);
    form.state.EndWaiting([&](const WaitingRequest& request) {
      host_.Answer(request.ticket,
                   PassOn({.form = form.hash, .units = request.units, .sent = now}));
    });
    return;
  }
  std::vector<Slice> returned;
  const std::int64_t wasted =
      form.state.TakeGrant(*granted, sent.slice, sent.at, now, rtt_, returned,
                           [&](const WaitingRequest& request, const EdgeAnswer& answer) {
                             if (answer.allowed())
                               counts_.spent += static_cast<std::uint64_t>(request.units);
                             if (!answer.was_needed) CountLocal(answer);
                             host_.Answer(request.ticket, answer);
                           });
  counts_.granted += static_cast<std::uint64_t>(granted->granted);
  counts_.wasted += static_cast<std::uint64_t>(wasted);
  forms_.Measure(form);
  Return(form, returned, now);
  Renew(form, now);
}

void Edge::OnPassedReply(const PassedOn& passed_on, std::string_view reply, HostInstant now) {
  if (passed_on.form == 0) return;
  MeasureRtt(passed_on.sent, now);
  const std::optional<DenialReply> denial = ReadDenialReply(reply);
  if (!denial) return;
  Form* form = forms_.Find(passed_on.form);
  if (!form) form = AddForm(passed_on.form, now);
  if (form) form->state.TakeDenial(*denial, passed_on.units, passed_on.sent);
}

// A longer time counts at once for the most part, a shorter one little by little.
void Edge::MeasureRtt(HostInstant sent, HostInstant now) {
  const Nanos measured = now - sent;
  rtt_ = std::max({rtt_ * 7 / 8 + measured / 8, measured * 3 / 4, kRttMin});
}

// --- The link ---

// While the link was down, pushes were lost: so all denials end. What is in hand was charged.
void Edge::OnLinkUp(HostInstant now) {
  is_up_ = true;
  for (Form& form : forms_.forms()) {
    form.state.DropDenial();
    form.state.MarkNotSliced(now);
    form.state.set_changes(0);
  }
  std::erase_if(unsettled_, [&](const auto& entry) { return entry.second.stop <= now; });
  for (const auto& [slice, unsettled] : unsettled_) SendCommit(slice, unsettled, now);
}

void Edge::OnLinkLost(HostInstant /*now*/) {
  is_up_ = false;
  in_flight_.clear();
  for (Form& form : forms_.forms()) {
    form.state.EndWaiting(
        [this](const WaitingRequest& request) { host_.Answer(request.ticket, EdgeAnswer{}); });
  }
}

void Edge::OnChange(const OperatorChange& change, HostInstant now) {
  for (Form& form : forms_.forms()) {
    if (!Concerns(change, form)) continue;
    form.state.DropDenial();
    form.state.set_changes(change.changes);
    DropEnded(form, now);
    Return(form, form.state.TakeAll(), now);
  }
}

// --- Ticks ---

// The forms stand in the order of their last requests, since each use of one counts a request.
void Edge::Tick(HostInstant now) {
  last_tick_ = now;
  for (Form& form : forms_.forms()) {
    if (!IsActive(form, now)) break;
    DropEnded(form, now);
    if (!is_up_) continue;
    form.state.Pass(now, rtt_);
    Return(form, form.state.TakeIdle(now, rtt_), now);
    if (filter_.IsHot(form.hash, now, rtt_)) Renew(form, now);
  }
}

std::optional<HostInstant> Edge::next_tick() const {
  if (forms_.size() == 0 || !IsActive(forms_.forms().front(), last_tick_)) return std::nullopt;
  return last_tick_ + kEdgeTick;
}

// A form is hot for two windows after its last request, and then lives the last slice that was
// asked for.
bool Edge::IsActive(const Form& form, HostInstant now) const {
  return now - form.state.last() <= 2 * HotFilter::Window(rtt_) + kSliceLifeAskedMax;
}

}  // namespace weir
