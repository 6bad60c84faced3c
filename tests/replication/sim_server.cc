#include "tests/replication/sim_server.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/record_bytes.h"
#include "replication/frame_bodies.h"

namespace weir {
namespace {

constexpr std::size_t kLoggedMax = 5;

std::optional<std::size_t> RowOf(std::uint16_t partition) {
  const auto* const row = std::ranges::find(kSimPartitions, partition);
  if (row == kSimPartitions.end()) return std::nullopt;
  return static_cast<std::size_t>(row - kSimPartitions.begin());
}

// Sets the keys of rows to the values in `bytes`. Returns false for damaged ones.
bool SetAll(std::string_view bytes, std::array<SimValue, kSimKeys>& row) {
  constexpr std::size_t kRecordBytes = 1 + sizeof(SimValue);
  if (bytes.size() % kRecordBytes != 0) return false;
  for (; !bytes.empty(); bytes.remove_prefix(kRecordBytes)) {
    RecordReader reader(bytes);
    const auto key = reader.Take<std::uint8_t>();
    if (key >= kSimKeys) return false;
    row[key] = reader.Take<SimValue>();
  }
  return true;
}

}  // namespace

void SimServer::BecomePrimary(std::unique_ptr<Ring> new_ring) {
  ring = std::move(new_ring);
  sink.reset();
  logs_ = {};
  given_out_ = {};
  flushed_ = false;
}

std::uint8_t SimServer::IdOf(std::size_t key) {
  std::size_t free = kSimKeys;
  for (std::size_t id = 0; id < kSimKeys; ++id) {
    if (given_out_[id] && key_of_[id] == key) return static_cast<std::uint8_t>(id);
    if (!given_out_[id]) free = id;
  }
  given_out_[free] = true;
  key_of_[free] = static_cast<std::uint8_t>(key);
  return static_cast<std::uint8_t>(free);
}

void SimServer::TakeBackIds() {
  for (std::size_t id = 0; id < kSimKeys; ++id) {
    const auto has_value = [&](const auto& row) { return row[key_of_[id]] != 0; };
    given_out_[id] =
        given_out_[id] && std::any_of(values.begin(), values.begin() + kPolicyRow, has_value);
  }
}

void SimServer::Set(std::size_t row, std::size_t key, SimValue value) {
  values[row][key] = value;
  Log& log = logs_[row];
  if (log.overflowed) return;
  const bool has_ids = row < kPolicyRow;
  log.changes.push_back({has_ids ? IdOf(key) : static_cast<std::uint8_t>(key), value});
  if (!has_ids || log.changes.size() <= kLoggedMax) return;
  log.overflowed = true;
  log.changes.clear();
}

void SimServer::FlushAll() {
  ClearTable();
  for (std::size_t row = 0; row < kPolicyRow; ++row) logs_[row] = {};
  flushed_ = true;
  ++generation_;
}

void SimServer::Take(Instant now) {
  if (flushed_) {
    ring->Append(FrameKind::kFlush, now, BodyOf(FlushBody{TableGeneration{generation_}}),
                 PartitionSet::All());
  }
  flushed_ = false;
  std::string body;
  PartitionSet touched;
  for (std::size_t row = 0; row < kPolicyRow; ++row) {
    Log& log = logs_[row];
    PartitionSet own;
    own.Add(kSimPartitions[row]);
    if (log.overflowed) {
      ring->Append(FrameKind::kGap, now, BodyOf(GapBody{kSimPartitions[row]}), own);
    }
    for (const Change& change : log.changes) {
      AppendNumber(kSimPartitions[row], body);
      AppendNumber(key_of_[change.id], body);
      AppendNumber(change.value, body);
      touched.AddAll(own);
    }
    log = {};
  }
  if (!body.empty()) ring->Append(FrameKind::kChanges, now, body, touched);
  body.clear();
  touched = {};
  for (const std::size_t row : {kPolicyRow, kOverrideRow}) {
    for (const Change& change : logs_[row].changes) {
      AppendNumber(static_cast<std::uint8_t>(row), body);
      AppendNumber(change.id, body);
      AppendNumber(change.value, body);
      if (row == kOverrideRow) touched.Add(kSimPartitions[change.id]);
    }
  }
  if (!body.empty()) ring->Append(FrameKind::kPolicies, now, body, touched);
  for (const Change& change : logs_[kPolicyRow].changes) ring->TouchPolicy(PolicyId{change.id});
  logs_[kPolicyRow] = {};
  logs_[kOverrideRow] = {};
  if (is_newer) ring->Append(kNewNumberedKind, now, "new", {});
}

std::string SimServer::CopyPartition(std::uint16_t partition) const {
  std::string body;
  AppendNumber(partition, body);
  const std::optional<std::size_t> row = RowOf(partition);
  for (std::size_t key = 0; row && key < kSimKeys; ++key) {
    if (values[*row][key] == 0) continue;
    AppendNumber(static_cast<std::uint8_t>(key), body);
    AppendNumber(values[*row][key], body);
  }
  return body;
}

std::string SimServer::CopyOverrides(std::uint16_t partition) const {
  const std::optional<std::size_t> key = RowOf(partition);
  std::string body;
  if (!key || *key >= kSimKeys || values[kOverrideRow][*key] == 0) return body;
  AppendNumber(partition, body);
  AppendNumber(values[kOverrideRow][*key], body);
  return body;
}

std::string SimServer::ListPolicies(std::optional<std::uint64_t> as_of) const {
  std::string body;
  for (std::size_t key = 0; key < kSimKeys; ++key) {
    const SimValue value = values[kPolicyRow][key];
    if (value == 0) continue;
    const PolicyId id{static_cast<std::uint32_t>(key)};
    const bool is_kept = as_of && ring->policies().Of(id) <= *as_of;
    AppendNumber(static_cast<std::uint8_t>(key), body);
    AppendNumber(is_kept ? SimValue{0} : value, body);
  }
  return body;
}

void SimServer::BecomeReplica(const Sink::State& state) {
  sink = std::make_unique<Sink>(*this, state);
  ring.reset();
}

std::optional<PartitionSet> SimServer::ApplyChanges(std::string_view body, Instant /*time*/) {
  constexpr std::size_t kRecordBytes = sizeof(std::uint16_t) + 1 + sizeof(SimValue);
  PartitionSet touched;
  for (; !body.empty(); body.remove_prefix(std::min(kRecordBytes, body.size()))) {
    RecordReader reader(body);
    const auto partition = reader.Take<std::uint16_t>();
    const std::optional<std::size_t> row = RowOf(partition);
    if (!row || !SetAll(reader.TakeBytes(kRecordBytes - sizeof(partition)), values[*row])) {
      return std::nullopt;
    }
    touched.Add(partition);
  }
  return touched;
}

std::optional<std::uint16_t> SimServer::ApplyOverrides(std::string_view body, bool is_first) {
  RecordReader reader(body);
  const auto partition = reader.Take<std::uint16_t>();
  copied_override_ = reader.Take<SimValue>();
  if (is_first) partition_parts_.clear();
  return reader.Complete() && RowOf(partition) ? std::optional(partition) : std::nullopt;
}

std::optional<std::uint16_t> SimServer::ApplyPartition(std::string_view body, Part part,
                                                       Instant /*time*/) {
  RecordReader reader(body);
  const auto partition = reader.Take<std::uint16_t>();
  const std::string_view records = reader.TakeRest();
  const std::optional<std::size_t> row = RowOf(partition);
  if (!row) return records.empty() ? std::optional(partition) : std::nullopt;
  if (part.first) {
    partition_parts_.clear();
    copied_override_.reset();
  }
  partition_parts_ += records;
  if (!part.last) return partition;
  if (*row < kSimKeys) values[kOverrideRow][*row] = copied_override_.value_or(0);
  copied_override_.reset();
  values[*row] = {};
  if (!SetAll(partition_parts_, values[*row])) return std::nullopt;
  return partition;
}

std::optional<SinkTarget::PoliciesTouched> SimServer::ApplyPolicies(std::string_view body) {
  PoliciesTouched touched;
  for (RecordReader reader(body); reader.left() > 0;) {
    const auto row = reader.Take<std::uint8_t>();
    const auto key = reader.Take<std::uint8_t>();
    const auto value = reader.Take<SimValue>();
    if (reader.failed() || row >= kSimRows || key >= kSimKeys) return std::nullopt;
    values[row][key] = value;
    if (row == kPolicyRow) touched.policies = true;
    if (row == kOverrideRow) touched.partitions.Add(kSimPartitions[key]);
  }
  return touched;
}

bool SimServer::ApplyPolicyList(std::string_view body, Part part) {
  if (part.first) policy_parts_.clear();
  policy_parts_ += body;
  if (!part.last) return true;
  const std::array<SimValue, kSimKeys> before = std::exchange(values[kPolicyRow], {});
  for (RecordReader reader(policy_parts_); reader.left() > 0;) {
    const auto key = reader.Take<std::uint8_t>();
    const auto value = reader.Take<SimValue>();  // 0: as it was
    if (reader.failed() || key >= kSimKeys) return false;
    values[kPolicyRow][key] = value != 0 ? value : before[key];
  }
  return true;
}

void SimServer::Flush(TableGeneration /*generation*/) { ClearTable(); }

void SimServer::ClearTable() {
  for (std::size_t row = 0; row < kPolicyRow; ++row) values[row] = {};
}

}  // namespace weir
