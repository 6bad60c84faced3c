// The names of limits that are labels of metrics.
//
// A series for each name is expensive for Prometheus, so only the first names have one; the others
// are counted together under kOtherLimits. A name that has a series keeps it, so that no count ever
// falls because another name has come.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"

#include "core/base/mutex.h"
#include "core/commands/limit_totals.h"

namespace weir {

// The longest value of a label.
inline constexpr std::size_t kMetricLabelBytesMax = 128;

// The text as a value of a label: cut to kMetricLabelBytesMax, and with "?" in place of each byte
// that is not printable ASCII, because Prometheus rejects a page that is not UTF-8. The writer of
// the page escapes the rest.
[[nodiscard]] std::string MetricLabel(std::string_view text);

// Thread-safe. Cost: a lock, and for each row a look-up.
class LimitLabels {
 public:
  using Rows = std::map<std::string, LimitTotals::Numbers>;  // by label
  // A range of consecutive rows.
  struct RowRange {
    Rows::const_iterator first;
    Rows::const_iterator last;
    [[nodiscard]] Rows::const_iterator begin() const { return first; }
    [[nodiscard]] Rows::const_iterator end() const { return last; }
  };
  // Consecutive rows of a table, which one walks in parts. Not thread-safe.
  class Part {
   public:
    // Chooses the next rows of `all`, at most `rows_max`. Returns whether they follow earlier ones.
    bool Take(const Rows& all, std::size_t rows_max);
    // True if there are rows behind the chosen ones.
    [[nodiscard]] bool HasMore(const Rows& all) const { return size_ > 0 && end_ != all.end(); }
    [[nodiscard]] RowRange rows() const { return {begin_, end_}; }

   private:
    Rows::const_iterator begin_;
    Rows::const_iterator end_;
    std::size_t size_ = 0;
  };
  struct Folded {
    Rows rows;
    std::size_t folded_names = 0;  // of the rows that are counted under kOtherLimits
  };
  // Gives labels to the rows that have none yet, in their order, while fewer than `labels_max` are
  // given; names of values have as many of their own. Names whose labels are equal have one row.
  [[nodiscard]] Folded Fold(const LimitTotals::Rows& rows, std::size_t labels_max);

 private:
  mutable Mutex mutex_;
  absl::flat_hash_set<std::string> labels_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<std::string> value_labels_ ABSL_GUARDED_BY(mutex_);  // NameKind::kOfValue
};

}  // namespace weir
