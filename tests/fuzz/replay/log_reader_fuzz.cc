// Property: in any of the formats, a line is a request that may be asked, or none, or gets a short
// error, and its format can be told. A request keeps the limits of its parts, and a CSV line of it
// reads as the same request. Requests of any times come out of the queue in order. Bytes of a gzip
// file come out the same in whatever pieces they come, and no more than the room takes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/base/instant.h"
#include "core/policies/policies.h"
#include "replay/gunzip.h"
#include "replay/log_format.h"
#include "replay/log_reader.h"
#include "replay/question.h"
#include "replay/time_order.h"
#include "replay/trial.h"

namespace weir {
namespace {

std::string Quoted(std::string_view key) {
  std::string quoted = "\"";
  for (const char byte : key) quoted += byte == '"' ? std::string("\"\"") : std::string(1, byte);
  return quoted + "\"";
}

void CheckCsv(const LoggedRequest& request) {
  const std::int64_t nanos = request.at.time_since_epoch().count();
  const std::string digits = std::to_string(1'000'000'000 + nanos % 1'000'000'000).substr(1);
  const LoggedKey& key = request.keys.front();
  const std::string line = std::to_string(nanos / 1'000'000'000) + "." + digits + "," +
                           Quoted(key.key) + "," + std::to_string(key.cost);
  const auto reader = MakeCsvReader({"time", "key", "cost"}, false);
  LoggedRequest again;
  const absl::StatusOr<bool> read = reader->Read(line, again);
  WEIR_CHECK(read.ok() && *read);
  WEIR_CHECK(again.at == request.at);
  WEIR_CHECK(again.keys.front().key == key.key);
  WEIR_CHECK(again.keys.front().cost == key.cost);
}

void CheckRequest(const LoggedRequest& request) {
  WEIR_CHECK(request.at >= Instant{} && request.at <= kInstantMax);
  WEIR_CHECK(request.keys.empty() == (request.action == LoggedAction::kClear));
  WEIR_CHECK(request.number >= 0);
  for (const LoggedKey& key : request.keys) {
    WEIR_CHECK(key.cost >= 0);
    for (const std::int64_t cost : key.word_costs) WEIR_CHECK(cost >= 0 || cost == kNoCost);
  }
  if (!request.keys.empty()) CheckCsv(request);
}

void ReadAll(LogReader& reader, std::string_view text) {
  static const Policies policies;
  static const HashSecret secret{};
  static const KeyHasher hasher(secret);
  TimeOrder order(std::chrono::seconds{5}, hasher);
  Trial trial(*Question::Parse("{key} 10/s 5/m,burst=3 AND all:{key} 3/m", &policies), secret,
              kMaxWaitMax, std::nullopt);
  std::uint64_t number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    static_cast<void>(TellFormat(line));
    static_cast<void>(TellUnread(line));
    LoggedRequest request;
    const absl::StatusOr<bool> read = reader.Read(line, request);
    if (!read.ok()) WEIR_CHECK(!read.status().message().empty());
    if (!read.ok()) WEIR_CHECK(read.status().message().size() < 1024);
    if (!read.ok() || !*read) continue;
    CheckRequest(request);
    if (trial.MayAsk(request).ok()) static_cast<void>(order.Add(++number, request));
  }
  Instant latest;
  order.ReleaseAll(
      [&](const LoggedRequest& request) {
        WEIR_CHECK(request.at >= latest);
        latest = request.at;
        const bool asks = AsksForTokens(request.action);
        WEIR_CHECK(trial.Replay(request).has_value() == asks);
      },
      [](const KeyHash&) {});
}

struct Unpacked {
  std::string text{};
  bool is_long = false;  // a small file may have much more than 1 MiB
  bool is_good = false;
  bool may_end = false;
};

Unpacked Unpack(std::string_view packed, std::size_t piece_bytes, std::size_t room_bytes) {
  constexpr std::size_t kTextBytesMax = 1024 * 1024;
  Gunzip gunzip;
  Unpacked unpacked;
  std::vector<char> room(room_bytes);
  for (;;) {
    const std::string_view piece = packed.substr(0, piece_bytes);
    const absl::StatusOr<Gunzip::Moved> moved = gunzip.Unpack(piece, room);
    if (!moved.ok()) return {};
    WEIR_CHECK(moved->taken <= piece.size());
    WEIR_CHECK(moved->given <= room.size());
    WEIR_CHECK(moved->taken > 0 || moved->given > 0 || piece.empty());
    unpacked.text.append(room.data(), moved->given);
    packed.remove_prefix(moved->taken);
    unpacked.is_long = unpacked.text.size() > kTextBytesMax;
    if (unpacked.is_long) return unpacked;
    if (packed.empty() && moved->given == 0) break;
  }
  unpacked.is_good = true;
  unpacked.may_end = gunzip.may_end();
  return unpacked;
}

void CheckGunzip(std::string_view packed) {
  if (packed.empty()) return;
  const std::size_t piece_bytes = static_cast<unsigned char>(packed.front()) + std::size_t{1};
  packed.remove_prefix(1);
  constexpr std::size_t kRoomBytes = 4096;
  const Unpacked first = Unpack(packed, std::max<std::size_t>(packed.size(), 1), kRoomBytes);
  const Unpacked second = Unpack(packed, piece_bytes, piece_bytes);
  const std::size_t bytes = std::min(first.text.size(), second.text.size());
  WEIR_CHECK(first.text.substr(0, bytes) == second.text.substr(0, bytes));
  if (first.is_long || second.is_long) return;
  WEIR_CHECK(first.is_good == second.is_good);
  WEIR_CHECK(first.text.size() == second.text.size());
  WEIR_CHECK(first.may_end == second.may_end);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::unique_ptr<weir::LogReader> readers[] = {
      weir::MakeAccessLogReader(),
      weir::MakeCsvReader({"time", "key", "cost"}, true),
      weir::MakeMonitorReader(),
      weir::MakeJsonReader({}),
      weir::MakeJsonReader({.time = "t", .key = "a.k", .cost = "n"}),
      weir::MakeCsvReader({"time", "cost"}, true, "all")};
  constexpr std::size_t kReaders = std::size(readers);
  const std::size_t choice = data[0] % (kReaders + 1);
  if (choice == kReaders) {
    weir::CheckGunzip(text);
  } else {
    weir::ReadAll(*readers[choice], text);
  }
  return 0;
}
