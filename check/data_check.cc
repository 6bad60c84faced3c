// The check of a data directory.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

#include "check/counted.h"
#include "check/file_check.h"
#include "core/base/status.h"
#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
#include "core/policies/policies.h"
#include "persistence/format.h"
#include "persistence/storage.h"
#include "replication/history.h"
#include "server/os/system_clock.h"

namespace weir {
namespace {

constexpr std::size_t kBadRecordsShownMax = 100;
// As in the log of a start.
constexpr std::chrono::minutes kClockLagToldMin{1};

std::string TimeText(Instant time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ",
                          absl::FromUnixNanos(time.time_since_epoch().count()),
                          absl::UTCTimeZone());
}

// Checks one directory, from its opening to the counts.
class DataCheck {
 public:
  explicit DataCheck(std::string path) : path_(std::move(path)) {}

  FileReport Run() {
    // A start that accepts damage continues after it, so that the rest is checked, too.
    absl::StatusOr<std::unique_ptr<Storage>> storage =
        Storage::Open({.directory = path_, .accept_damage = true, .read_only = true});
    if (!storage.ok()) {
      Find(storage.status());
      return std::move(report_);
    }
    for (const std::string& loss : (*storage)->accepted_losses()) Find(loss);
    TellState(**storage);
    const absl::StatusOr<RecordCounts> counts = (*storage)->CountRecords();
    if (!counts.ok()) {
      Find(counts.status());
      return std::move(report_);
    }
    Load(**storage);
    Tell(absl::StrCat(Counted(counts->records, "record", "records"), ": ", counts->flushed,
                      " from before a flush, ", counts->unknown, " of unknown kinds"));
    return std::move(report_);
  }

 private:
  void Find(absl::string_view what) { report_.findings.push_back(absl::StrCat(path_, ": ", what)); }
  // The messages of persistence/ begin with the name of the directory.
  void Find(const absl::Status& error) {
    Find(absl::StripPrefix(error.message(), absl::StrCat("data directory ", path_, ": ")));
  }
  void Tell(absl::string_view what) { report_.facts.push_back(absl::StrCat(path_, ": ", what)); }

  void TellState(const Storage& storage) {
    const std::string_view end = storage.is_backup()         ? "made by RL.BACKUP"
                                 : storage.unclean_restart() ? "left by a crash"
                                                             : "stopped cleanly";
    Tell(absl::StrCat("format ", kFormatVersion, ", ", AbslView(end), ", with times up to ",
                      TimeText(storage.clock_mark()), ", ", RoleText(storage)));
  }

  // Returns the role of the server whose directory this is.
  std::string RoleText(const Storage& storage) {
    const std::string& record = storage.history();
    const std::optional<History> history = record.empty() ? History() : ReadHistoryValue(record);
    if (!history) {
      Find("the record of its history is damaged");
      return "of an unknown role";
    }
    std::string role = "a primary";
    if (history->is_deposed) role = "a deposed primary";
    if (history->is_replica) {
      role = absl::StrCat("a replica of ", history->primary.host, ":", history->primary.port);
    }
    return absl::StrCat("of ", role, " in term ", history->term,
                        storage.is_backup() ? "; a start takes its role from replicaof" : "");
  }

  // Loads the records as a start does, and tells what came of them.
  void Load(Storage& storage) {
    const SystemClock clock(
        {.last_time = storage.clock_mark(), .uncertainty = storage.clock_allowance()});
    Limiter limiter({.secret = storage.secret()});
    Policies policies;
    LoadReport loaded;
    const std::atomic<bool> stop{false};
    const absl::Status result =
        storage.Load(limiter.table(), policies,
                     {.now = clock.Now(), .errors_max = kBadRecordsShownMax}, loaded, stop);
    for (const std::string& error : loaded.errors) Find("bad record: " + error);
    if (loaded.bad > loaded.errors.size()) {
      const std::uint64_t more = loaded.bad - loaded.errors.size();
      Find(Counted(more, "more bad record", "more bad records"));
    }
    if (!result.ok()) return Find(result);
    std::size_t overrides = 0;
    for (const auto& policy : policies.All()) overrides += policy->overrides->size();
    const std::uint64_t dropped = loaded.dropped;
    const std::uint64_t full = loaded.full;
    Tell(absl::StrCat("a start loads ", Counted(loaded.loaded, "bucket", "buckets"), ", ",
                      Counted(LimiterUpkeep(limiter.table()).size().limits, "limit", "limits"),
                      ", ", Counted(policies.All().size(), "policy", "policies"), ", ",
                      Counted(overrides, "override", "overrides")));
    Tell(absl::StrCat("it drops ", Counted(dropped, "bucket", "buckets"), ": ", full, " full, and ",
                      dropped - full, " without a limit or policy"));
    TellHolds(storage, loaded);
    if (const Nanos ahead = -clock.OffsetToWallClock(); ahead > kClockLagToldMin) {
      Tell(absl::StrCat("its times are ", std::chrono::floor<std::chrono::seconds>(ahead).count(),
                        " s ahead of this machine's clock: a start continues from them, see "
                        "--reset-clock"));
    }
  }

  void TellHolds(const Storage& storage, const LoadReport& loaded) {
    const std::uint64_t open = loaded.holds;
    const std::uint64_t settled = loaded.marks;
    const std::uint64_t expired = loaded.expired;
    const std::uint64_t dropped = loaded.dropped_holds;
    const std::uint64_t all = open + settled + expired + dropped;
    if (all == 0) return;
    Tell(absl::StrCat(Counted(all, "hold", "holds"), ": ", open, " open, ", settled, " settled, ",
                      expired, " expired, and ", dropped,
                      storage.holds_are_stale()
                          ? " dropped, as an older server has used the directory since"
                          : " without a limit or policy"));
  }

  const std::string path_;
  FileReport report_;
};

}  // namespace

FileReport CheckDataDirectory(const std::string& path) { return DataCheck(path).Run(); }

}  // namespace weir
