#include "tests/replication/simulation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "tests/support/fake_clock.h"

namespace weir {
namespace {

constexpr int kActions = 300;
constexpr std::size_t kBytesUnderWayMax = 3'000;

std::string IdOf(unsigned history) {
  const std::string digits = std::to_string(history);
  return std::string(kHistoryIdBytes - digits.size(), '0') + digits;
}

}  // namespace

Simulation::Simulation(std::uint64_t seed, PlantedBug bug)
    : random_(seed), bug_(bug), now_(FakeClock::kStart) {
  constexpr std::array<std::size_t, 5> kRingBytes = {50, 300, 600, 1'500, 100'000};
  ring_bytes_ = kRingBytes[random_.Below(kRingBytes.size())];
  flush_percent_ = random_.Percent(8) ? 2 : 0;
  cut_percent_ = random_.Below(10);
  promote_percent_ = random_.Percent(30) ? 3 : 0;
  start_over_percent_ = random_.Percent(4) ? 20 : 0;
  for (SimServer& server : servers_) {
    server.history.id = IdOf(0);
    server.is_newer = random_.Percent(30);
    server.BecomeReplica({.last_changed = LastChanged()});
  }
  primary().BecomePrimary(std::make_unique<Ring>(ring_bytes_, 0));
  BeginHistory();
}

std::string Simulation::Run() {
  for (int i = 0; i < kActions && error_.empty(); ++i) Act();
  if (error_.empty()) CalmDown();
  return error_;
}

void Simulation::Act() {
  now_ += Nanos{1 + random_.Below(1'000'000)};
  const std::size_t chance = random_.Below(100);
  if (chance < 35) {
    Change();
  } else if (chance < 50) {
    Take();
  } else if (chance < 51) {
    if (random_.Percent(promote_percent_ * 20)) random_.Percent(50) ? Promote() : Yield();
  } else if (chance < 52) {
    TakeBackIds();
  } else {
    ActOnLink((primary_ + 1 + random_.Below(kServers - 1)) % kServers);
  }
}

void Simulation::ActOnLink(std::size_t replica) {
  Link& link = links_[replica];
  if (!link.source) return Connect(replica);
  if (random_.Percent(cut_percent_)) return Cut(replica);
  const std::size_t chance = random_.Below(100);
  if (chance < 45) {
    Pump(replica);
  } else if (chance < 80) {
    Deliver(replica, random_.Below(2 * link.out.size() + 1));
  } else if (chance < 90) {
    servers_[replica].sink->AppendAck(now_, {}, link.in);
    MaybeAppendNewKind(servers_[replica], servers_[replica].sink->applied(), link.in);
  } else {
    DeliverToPrimary(link, random_.Below(2 * link.in.size() + 1));
  }
}

void Simulation::Change() {
  if (random_.Percent(flush_percent_)) {
    primary().FlushAll();
    for (std::size_t row = 0; row < kPolicyRow; ++row) {
      for (std::vector<SimValue>& past : past_[row]) past.push_back(0);
    }
    return;
  }
  const std::size_t row = random_.Below(kSimRows);
  const std::size_t key = random_.Below(kSimKeys);
  constexpr SimValue kOdd = 0x9E3779B1;  // so that values do not grow
  const SimValue value = random_.Percent(30) ? 0 : next_value_++ * kOdd;
  primary().Set(row, key, value);
  past_[row][key].push_back(value);
}

void Simulation::Take() {
  primary().Take(now_);
  RecordValues();
}

void Simulation::TakeBackIds() {
  if (bug_ != PlantedBug::kUndrainedIds) Take();
  primary().TakeBackIds();
}

void Simulation::Connect(std::size_t replica) {
  History& mine = servers_[replica].history;
  Sink& sink = *servers_[replica].sink;
  History& theirs = primary().history;
  theirs.offset = primary().ring->head();
  std::optional<std::uint64_t> common = theirs.Common(mine.id, sink.applied());
  if (random_.Percent(start_over_percent_)) common.reset();
  const std::uint64_t begin = common.value_or(theirs.offset);
  if (!common) {
    sink.StartOver(begin, random_.Percent(50));
  } else if (!sink.Resume(begin, mine.id == theirs.id)) {
    return Fail("a common offset above the replica's");
  }
  mine.Follow(theirs.term, theirs.id);
  seen_terms_[replica] = std::max(seen_terms_[replica], theirs.term);
  Link& link = links_[replica];
  link = {};
  link.source = std::make_unique<Source>(begin);
  if (bug_ == PlantedBug::kForgetOpen) {
    const std::string nothing = BodyOf(NeedBody{.policies_as_of = begin});
    AppendFrame({.kind = FrameKind::kNeed, .offset = begin, .time = now_, .body = nothing},
                link.in);
  } else {
    sink.AppendNeed(now_, link.in);
  }
  if (bug_ == PlantedBug::kNoNeed) {
    const std::string nothing = BodyOf(NeedBody{.policies_as_of = begin});
    const Frame need = {.kind = FrameKind::kNeed, .time = now_, .body = nothing};
    if (!link.source->HandleFrame(need)) Fail("a NEED is refused");
  }
}

// Bytes that are under way are lost, but for some at the front.
void Simulation::Cut(std::size_t replica) {
  Deliver(replica, random_.Below(links_[replica].out.size() + 1));
  links_[replica].source.reset();
}

void Simulation::Pump(std::size_t replica) {
  Link& link = links_[replica];
  for (std::size_t steps = 1 + random_.Below(4); steps > 0; --steps) {
    if (link.out.size() > kBytesUnderWayMax) return;
    const std::size_t begin = link.out.size();
    if (random_.Percent(10)) {
      link.source->AppendHeartbeat(primary().ring->head(), 0, now_, link.out);
      Distort(link, begin);
      continue;
    }
    MaybeAppendNewKind(primary(), link.source->cursor(), link.out);
    const Source::Step step = link.source->Next(*primary().ring, now_, link.out);
    Distort(link, begin);
    if (step.want == Source::Want::kNothing) return;
    // Other threads go on until the partition is locked.
    if (random_.Percent(10)) Change();
    if (random_.Percent(10)) Take();
    AppendCopy(link, step);
  }
}

void Simulation::MaybeAppendNewKind(const SimServer& sender, std::uint64_t offset,
                                    std::string& out) {
  if (!sender.is_newer || !random_.Percent(20)) return;
  AppendFrame({.kind = kNewKind, .offset = offset, .time = now_, .body = "new"}, out);
}

void Simulation::AppendCopy(Link& link, const Source::Step& step) {
  const std::size_t begin = link.out.size();
  if (step.want == Source::Want::kPolicies) {
    std::optional<std::uint64_t> as_of = step.policies_as_of;
    if (bug_ == PlantedBug::kKeptPolicies && as_of) as_of = primary().ring->head();
    const std::string body = primary().ListPolicies(as_of);
    constexpr std::size_t kRecordBytes = 1 + sizeof(SimValue);
    if (!body.empty() && random_.Percent(20)) {
      link.source->AppendPolicies(body.substr(0, kRecordBytes), false, now_, link.out);
      link.source->AppendPolicies(body.substr(kRecordBytes), true, now_, link.out);
    } else {
      link.source->AppendPolicies(body, true, now_, link.out);
    }
  } else {
    if (const std::string overrides = primary().CopyOverrides(step.partition); !overrides.empty()) {
      link.source->AppendOverrides(overrides, now_, link.out);
    }
    const std::string body = primary().CopyPartition(step.partition);
    constexpr std::size_t kPartitionBytes = 2;
    if (body.size() > kPartitionBytes && random_.Percent(20)) {
      link.source->AppendPartition(body.substr(0, kPartitionBytes), false, now_, link.out);
    }
    link.source->AppendPartition(body, true, now_, link.out);
  }
  if (bug_ == PlantedBug::kOffsetAfterCopy && random_.Percent(20)) {
    Change();
    Take();
  }
  Distort(link, begin);
}

void Simulation::Deliver(std::size_t replica, std::size_t bytes) {
  Link& link = links_[replica];
  Sink& sink = *servers_[replica].sink;
  const std::size_t count = std::min(bytes, link.out.size());
  if (!sink.Receive(std::string_view(link.out).substr(0, count))) return Fail(sink.error());
  link.out.erase(0, count);
  CheckValues(replica);
}

void Simulation::DeliverToPrimary(Link& link, std::size_t bytes) {
  const std::size_t count = std::min(bytes, link.in.size());
  link.reader.Feed(std::string_view(link.in).substr(0, count));
  link.in.erase(0, count);
  while (const std::optional<Frame> frame = link.reader.Next()) {
    if (!link.source->HandleFrame(*frame)) return Fail("the primary refuses a frame");
    if (!link.source->acked().synced) continue;
    const bool is_hasty = bug_ == PlantedBug::kHastyAck;
    link.acked = is_hasty ? link.source->cursor() : link.source->acked().offset;
  }
  if (!link.reader.error().empty()) Fail(link.reader.error());
}

// The primary stops; a replica that has been synced takes over, and the former primary follows it.
void Simulation::Promote() {
  const std::size_t taker = (primary_ + 1 + random_.Below(kServers - 1)) % kServers;
  SimServer& next = servers_[taker];
  if (!next.sink->complete() || !next.sink->shown()) return;
  SwitchTo(taker);
}

void Simulation::SwitchTo(std::size_t taker) {
  SimServer& next = servers_[taker];
  if (taker != primary_) CheckPromoted(taker);
  for (Link& link : links_) link = {};
  SimServer& former = primary();
  former.Take(now_);
  former.BecomeReplica({.applied = former.ring->head(),
                        .last_changed = former.ring->last_changed(),
                        .policies_changed = former.ring->policies().newest(),
                        .complete = true});
  if (bug_ == PlantedBug::kForgottenTerm) next.history.term = next.history.seen_term = 0;
  next.history.Promote(*next.sink->shown(), IdOf(++histories_));
  if (next.history.term <= std::exchange(seen_terms_[taker], next.history.term)) {
    Fail("a promotion in a term that is not later");
  }
  if (bug_ == PlantedBug::kSeamlessPromotion) {
    next.BecomePrimary(std::make_unique<Ring>(ring_bytes_, next.sink->applied(),
                                              next.sink->last_changed(),
                                              next.sink->PromotedRing(1).policies()));
  } else {
    next.BecomePrimary(std::make_unique<Ring>(next.sink->PromotedRing(ring_bytes_)));
  }
  primary_ = taker;
  BeginHistory();
}

// A planned switch: the primary changes nothing more, and gives a replica all that there is and a
// YIELD. If the link is cut before that, the primary continues in a history of its own.
void Simulation::Yield() {
  const std::size_t taker = (primary_ + 1 + random_.Below(kServers - 1)) % kServers;
  Link& link = links_[taker];
  if (!link.source || !servers_[taker].sink->complete()) return;
  if (bug_ != PlantedBug::kHastyYield) Take();
  Feed(taker);
  if (!error_.empty()) return;
  if (!link.source->is_level(*primary().ring)) return Fail("a replica that was fed is not level");
  link.source->AppendYield(primary().history.term, now_, link.out);
  Deliver(taker, random_.Percent(30) ? random_.Below(link.out.size()) : link.out.size());
  if (!servers_[taker].sink->yielded()) return SwitchTo(primary_);
  if (servers_[taker].values != primary().values) return Fail("a switch has lost something");
  SwitchTo(taker);
}

void Simulation::CheckValues(std::size_t replica) {
  const SimServer& server = servers_[replica];
  const std::uint64_t applied = server.sink->applied();
  for (std::size_t row = 0; row < kPolicyRow; ++row) {
    if (server.sink->need().Contains(kSimPartitions[row])) continue;
    if (!HasSince(applied, server, row)) {
      return Fail(absl::StrCat("a value of partition ", kSimPartitions[row],
                               " that is older than as of ", applied));
    }
  }
}

void Simulation::CheckPromoted(std::size_t taker) {
  const std::uint64_t acked = links_[taker].acked;
  for (std::size_t row = 0; row < kSimRows; ++row) {
    if (!HasSince(acked, servers_[taker], row)) {
      return Fail(absl::StrCat("a promoted server lacks what it had acknowledged at ", acked));
    }
  }
}

// Whether all values of the row are ones that the primary has had since its history was at
// `offset`.
bool Simulation::HasSince(std::uint64_t offset, const SimServer& server, std::size_t row) {
  if (offset < as_of_.front().offset) return true;
  const auto later = std::ranges::upper_bound(as_of_, offset, {}, &AsOf::offset);
  const SimRows<std::uint32_t>& counts = std::prev(later)->counts;
  for (std::size_t key = 0; key < kSimKeys; ++key) {
    const std::vector<SimValue>& past = past_[row][key];
    const auto oldest = past.begin() + counts[row][key] - 1;
    if (std::find(oldest, past.end(), server.values[row][key]) == past.end()) return false;
  }
  return true;
}

// Moves all bytes, until there are none.
void Simulation::Feed(std::size_t replica) {
  Link& link = links_[replica];
  DeliverToPrimary(link, link.in.size());
  for (Source::Step step{.want = Source::Want::kPartition};
       step.want != Source::Want::kNothing && error_.empty();) {
    const std::size_t begin = link.out.size();
    step = link.source->Next(*primary().ring, now_, link.out);
    Distort(link, begin);
    if (step.want != Source::Want::kNothing) AppendCopy(link, step);
    Deliver(replica, link.out.size());
  }
}

void Simulation::CalmDown() {
  constexpr int kRounds = 3;
  Take();
  for (int round = 0; round < kRounds && error_.empty(); ++round) {
    for (std::size_t replica = 0; replica < kServers && error_.empty(); ++replica) {
      if (replica == primary_) continue;
      if (!links_[replica].source) Connect(replica);
      Feed(replica);
    }
  }
  for (std::size_t replica = 0; replica < kServers && error_.empty(); ++replica) {
    if (replica == primary_) continue;
    const Sink& sink = *servers_[replica].sink;
    if (!sink.synced() || !sink.complete()) Fail("a replica is not synced in the end");
    if (sink.shown() != sink.applied()) Fail("a replica shows another offset in the end");
    if (servers_[replica].values != primary().values) Fail("not equal in the end");
  }
}

void Simulation::Fail(std::string what) {
  if (error_.empty()) error_ = std::move(what);
}

void Simulation::Distort(Link& link, std::size_t begin) {
  if (bug_ == PlantedBug::kNone) return;
  FrameReader reader;
  reader.Feed(std::string_view(link.out).substr(begin));
  std::string distorted;
  while (std::optional<Frame> frame = reader.Next()) {
    if (frame->kind == kNewNumberedKind && bug_ == PlantedBug::kUncountedKinds) continue;
    if (frame->kind == FrameKind::kSkip && bug_ == PlantedBug::kUnsaidSkip) continue;
    if (frame->kind == FrameKind::kOverrides && bug_ == PlantedBug::kNoOverrides) continue;
    std::string body;
    if (frame->kind == FrameKind::kSkip && bug_ == PlantedBug::kStalePolicies) {
      SkipBody skip = ReadSkipBody(frame->body).value();
      skip.lists_policies = false;
      frame->body = body = BodyOf(skip);
    }
    if (frame->is_whole() && bug_ == PlantedBug::kStalePolicies && link.policies++ > 0) continue;
    if (frame->kind == FrameKind::kPartition && bug_ == PlantedBug::kOffsetAfterCopy) {
      frame->offset = primary().ring->head();
    }
    if (bug_ == PlantedBug::kHeartbeatMoves) {
      frame->offset += link.heartbeat_bytes;
      if (frame->kind == FrameKind::kHeartbeat) link.heartbeat_bytes += frame->size();
    }
    AppendFrame(*frame, distorted);
  }
  WEIR_CHECK(reader.error().empty());
  link.out.replace(begin, std::string::npos, distorted);
}

void Simulation::RecordValues() {
  AsOf as_of = {.offset = primary().ring->head(), .counts = {}};
  for (std::size_t row = 0; row < kSimRows; ++row) {
    for (std::size_t key = 0; key < kSimKeys; ++key) {
      as_of.counts[row][key] = static_cast<std::uint32_t>(past_[row][key].size());
    }
  }
  if (!as_of_.empty() && as_of_.back().offset == as_of.offset) as_of_.pop_back();
  as_of_.push_back(as_of);
}

void Simulation::BeginHistory() {
  for (std::size_t row = 0; row < kSimRows; ++row) {
    for (std::size_t key = 0; key < kSimKeys; ++key) {
      past_[row][key] = {primary().values[row][key]};
    }
  }
  as_of_.clear();
  RecordValues();
}

}  // namespace weir
