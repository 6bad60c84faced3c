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
  log.changes.push_back({row == kPolicyRow ? static_cast<std::uint8_t>(key) : IdOf(key), value});
  if (row == kPolicyRow || log.changes.size() <= kLoggedMax) return;
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
  for (const Change& change : logs_[kPolicyRow].changes) {
    AppendNumber(change.id, body);
    AppendNumber(change.value, body);
  }
  if (!body.empty()) ring->Append(FrameKind::kPolicies, now, body, {});
  logs_[kPolicyRow] = {};
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

std::string SimServer::CopyPolicies() const {
  std::string body;
  for (std::size_t key = 0; key < kSimKeys; ++key) {
    if (values[kPolicyRow][key] == 0) continue;
    AppendNumber(static_cast<std::uint8_t>(key), body);
    AppendNumber(values[kPolicyRow][key], body);
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

std::optional<std::uint16_t> SimServer::ApplyPartition(std::string_view body, Part part,
                                                       Instant /*time*/) {
  RecordReader reader(body);
  const auto partition = reader.Take<std::uint16_t>();
  const std::string_view records = reader.TakeRest();
  const std::optional<std::size_t> row = RowOf(partition);
  if (!row) return records.empty() ? std::optional(partition) : std::nullopt;
  if (part.first) partition_parts_.clear();
  partition_parts_ += records;
  if (!part.last) return partition;
  values[*row] = {};
  if (!SetAll(partition_parts_, values[*row])) return std::nullopt;
  return partition;
}

bool SimServer::ApplyPolicies(std::string_view body) { return SetAll(body, values[kPolicyRow]); }

bool SimServer::ApplyWholePolicies(std::string_view body, Part part) {
  if (part.first) policy_parts_.clear();
  policy_parts_ += body;
  if (!part.last) return true;
  values[kPolicyRow] = {};
  return ApplyPolicies(policy_parts_);
}

void SimServer::Flush(TableGeneration /*generation*/) { ClearTable(); }

void SimServer::ClearTable() {
  for (std::size_t row = 0; row < kPolicyRow; ++row) values[row] = {};
}

}  // namespace weir
