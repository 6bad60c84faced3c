#include "tests/edge/edge_simulation.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

#include "tests/edge/sim_edge.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A bit before midnight, UTC.
constexpr Nanos kBegin = seconds{1'767'225'600} - seconds{2};

}  // namespace

EdgeSimulation::EdgeSimulation(std::uint64_t seed, EdgeBug bug, EdgeTally& tally)
    : random_(seed), bug_(bug), tally_(tally), begin_(kBegin), events_(kBegin), primary_(bug) {
  const auto pick = [&](std::initializer_list<int> of) {
    return *(of.begin() + Below(static_cast<std::int64_t>(of.size())));
  };
  slow_ = milliseconds{pick({0, 1, 5, 30, 200})};
  if (slow_ == Nanos{0}) slow_ = std::chrono::microseconds{50};
  end_ = now() + milliseconds{pick({2000, 5000})};
  MakeForms();
  favourite_ = static_cast<std::size_t>(Chance(.6) ? Below(3) : Below(std::ssize(forms_)));
  const int edges = pick({1, 2, 2, 3, 3, 8});
  for (int i = 0; i < edges; ++i) {
    edges_.push_back(std::make_unique<SimEdge>(*this, edges_.size()));
  }
}

EdgeSimulation::~EdgeSimulation() = default;

std::size_t EdgeSimulation::AddLimit(std::string_view key, SimLimit limit) {
  limits_.push_back({std::string(key), {{now(), std::move(limit)}}});
  return limits_.size() - 1;
}

void EdgeSimulation::AddForm(std::vector<std::string> words, std::vector<std::size_t> limits,
                             std::int64_t unit_tokens, bool takes_cost) {
  forms_.push_back({std::move(words), std::move(limits), unit_tokens, takes_cost});
}

void EdgeSimulation::MakeForms() {
  using enum SimLimit::Kind;
  const auto pick = [&](std::initializer_list<std::int64_t> of) {
    return *(of.begin() + Below(static_cast<std::int64_t>(of.size())));
  };
  const auto window = [&](std::string_view options) {
    const std::int64_t count = pick({10, 40, 150});
    const std::int64_t ms = pick({600, 4000, 6000});
    return SimLimit{std::string(absl::StrCat(count, "/", ms, "ms")) + std::string(options), kWindow,
                    count, milliseconds{ms}};
  };
  const std::int64_t count = pick({7, 20, 30, 60});
  const std::int64_t ms = pick({700, 1000, 3000});
  const std::int64_t burst = pick({count, 2 * count, std::max<std::int64_t>(count / 2, 4)});
  const SimLimit bucket = {absl::StrCat(count, "/", ms, "ms,burst=", burst), kBucket, count,
                           milliseconds{ms}, burst};
  const SimLimit fixed = window(",fixed,aligned");
  const std::size_t first = AddLimit("k", bucket);
  const std::size_t second = AddLimit("k", fixed);
  AddForm({"k", bucket.word}, {first});
  AddForm({"k", fixed.word}, {second});
  AddForm({"k", bucket.word, fixed.word}, {first, second});
  const std::size_t policy = AddLimit("p1", {"@p", kBucket, 20, seconds{1}, 20});
  AddForm({"p1", "@p"}, {policy}, 1, false);
  AddForm({"p1", "@p", "COST", "2"}, {policy}, 2, false);
  const SimLimit sliding = window(",sliding");
  AddForm({"s", sliding.word}, {AddLimit("s", sliding)});
  AddForm({"b", "20/s,ban=200ms"}, {AddLimit("b", {"20/s", kBucket, 20, seconds{1}, 20})});
  AddForm({"d", "60/day"}, {AddLimit("d", {"60/day", kWindow, 60, hours{24}})});
  AddForm({"kp", "30/s,keep=5"}, {AddLimit("kp", {"30/s", kBucket, 30, seconds{1}, 30})});
  AddForm({"c", "60/s,cost=3"}, {AddLimit("c", {"60/s", kBucket, 60, seconds{1}, 60})}, 3, false);
}

std::string EdgeSimulation::Run() {
  events_.At(now(), [this] { Act(); });
  events_.RunUntil(end_);
  // A rest, after which nothing is in hand.
  for (const std::unique_ptr<SimEdge>& edge : edges_) edge->Mend();
  events_.RunUntil(now() + seconds{13});
  for (const std::unique_ptr<SimEdge>& edge : edges_) {
    if (edge->edge().in_hand() != 0) Fail("E8 units are in hand after a rest");
  }
  CheckGreedy();
  CheckLaws();
  return violation_;
}

// --- What happens ---

void EdgeSimulation::Act() {
  if (now() >= end_) return;
  SimEdge& edge = *edges_[static_cast<std::size_t>(Below(std::ssize(edges_)))];
  const std::int64_t dice = Below(1000);
  if (dice < 780) {
    AskSome();
  } else if (dice < 870) {
    ActAtPrimary();
  } else if (dice < 890) {
    Change();
  } else if (dice < 930) {
    edge.is_up() ? edge.Cut() : edge.Mend();
  } else if (dice < 945) {
    edge.Start();
  }
  const std::int64_t gap = std::int64_t{1'000'000} << Below(6);  // 1 to 32 ms
  events_.At(now() + Nanos{1 + Below(gap)}, [this] { Act(); });
}

void EdgeSimulation::AskSome() {
  SimEdge& edge = *edges_[static_cast<std::size_t>(Below(std::ssize(edges_)))];
  const auto form = Chance(.8) ? favourite_ : static_cast<std::size_t>(Below(std::ssize(forms_)));
  const std::int64_t times = Chance(.3) ? 1 : Chance(.5) ? 3 : 10;
  const std::int64_t units = forms_[form].takes_cost && Chance(.2) ? 1 + Below(4) : 1;
  const bool is_joined = Chance(.15);
  for (std::int64_t i = 0; i < times; ++i) {
    if (is_joined) {
      edge.AskBoth(favourite_, (favourite_ + 3) % forms_.size());
    } else {
      edge.Ask(form, units, Chance(.1));
    }
  }
}

// A client of the primary.
void EdgeSimulation::ActAtPrimary() {
  const std::vector<std::string>& words = forms_[favourite_].words;
  const SimReply reply =
      primary_.Allow(std::vector<std::string_view>(words.begin(), words.end()), Now());
  if (reply.granted == 1) spends_.push_back({now(), 1, favourite_, std::nullopt, now()});
}

void EdgeSimulation::Change() {
  OperatorChange change = {.kind = OperatorChange::Kind::kKey};
  std::string name = Chance(.5) ? forms_[favourite_].words.front() : "k";
  if (Chance(.4)) {
    change.kind = OperatorChange::Kind::kPolicy;
    name = "p";
    const std::int64_t count = Chance(.5) ? 20 : 40;
    primary_.SetPolicy(absl::StrCat(count, "/s"));
    limits_[2].epochs.push_back({now(), {"@p", SimLimit::Kind::kBucket, count, seconds{1}, count}});
  } else {
    primary_.Reset(name, Now());
    for (KeyedLimit& limit : limits_) {
      if (limit.key == name) limit.epochs.push_back({now(), limit.epochs.back().limit});
    }
  }
  change.changes = primary_.changes();
  const std::string key = change.kind == OperatorChange::Kind::kPolicy ? "p1" : name;
  const auto is_meant = [&](const SimForm& form) { return form.words.front() == key; };
  const auto first = std::ranges::find_if(forms_, is_meant) - forms_.begin();
  const auto forms = std::ranges::count_if(forms_, is_meant);
  for (const std::unique_ptr<SimEdge>& edge : edges_) {
    if (!edge->is_up() || Chance(.3)) continue;
    edge->Hear(change, name, static_cast<std::size_t>(first), static_cast<std::size_t>(forms));
  }
}

void EdgeSimulation::Attack(SimEdge& edge, Nanos end) {
  events_.At(now(), [&edge] { edge.Cut(); });
  events_.At(end, [this, &edge] {
    for (std::size_t form = 0; form < 3; ++form) {
      for (int i = 0; i < 9; ++i) edge.Ask(form, 1, false);
    }
    edge.Ask(favourite_, 1, false);
  });
}

// --- Laws ---

// A request with AND that the primary has admitted.
void EdgeSimulation::SpendBoth(const std::vector<std::string>& words, Nanos charged) {
  const auto join = std::ranges::find(words, "AND");
  for (std::size_t form = 0; form < forms_.size(); ++form) {
    const std::vector<std::string>& known = forms_[form].words;
    if (std::equal(words.begin(), join, known.begin(), known.end()) ||
        std::equal(join + 1, words.end(), known.begin(), known.end())) {
      spends_.push_back({charged, 1, form, std::nullopt, charged});
    }
  }
}

// E7: who asks one edge for more than there is gets what is there.
void EdgeSimulation::CheckGreedy() {
  const std::size_t form = static_cast<std::size_t>(Below(2));
  const SimLimit limit = limits_[form].epochs.back().limit;
  if (form == 1) events_.RunUntil((now() / limit.period + 1) * limit.period);
  const Nanos begin = now();
  const Nanos length = form == 0 ? Nanos{seconds{2}} : limit.period - Nanos{1};
  while (now() < begin + length) {
    for (int i = 0; i < 20; ++i) edges_.front()->Ask(form, 1, false);
    events_.RunUntil(std::min(now() + milliseconds{2}, begin + length));
  }
  events_.RunUntil(now() + 3 * slow_);
  std::int64_t got = 0;
  for (const SimSpend& spend : spends_) {
    if (spend.form == form && spend.at >= begin && spend.at <= begin + length) got += spend.units;
  }
  const Nanos counted = std::max(length - 4 * slow_ - 3 * kPace, Nanos{0});
  const std::int64_t due =
      form == 1 ? limit.count : limit.burst + counted * limit.count / limit.period;
  if (got < due - due / 10 - 1) Fail(absl::StrCat("E7 a greedy caller got ", got, " of ", due));
}

void EdgeSimulation::CheckLaws() {
  if (!violation_.empty()) return;
  violation_ = MatchSlices(std::move(slices_), spends_);
  if (!violation_.empty()) return;
  std::vector<std::vector<SimTokens>> tokens(limits_.size());
  for (const SimSpend& spend : spends_) {
    const SimForm& form = forms_[spend.form];
    for (const std::size_t limit : form.limits) {
      tokens[limit].push_back({spend.at, spend.charged, spend.units * form.unit_tokens});
    }
  }
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    const std::string wrong = CheckTokens(tokens[i], limits_[i].epochs, longest_life_);
    if (!wrong.empty()) return Fail(wrong);
  }
}

}  // namespace weir
