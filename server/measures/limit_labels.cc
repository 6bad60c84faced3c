#include "server/measures/limit_labels.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace weir {

std::string MetricLabel(std::string_view text) {
  std::string label(text.substr(0, kMetricLabelBytesMax));
  std::ranges::replace_if(
      label, [](char c) { return !absl::ascii_isprint(static_cast<unsigned char>(c)); }, '?');
  return label;
}

bool LimitLabels::Part::Take(const Rows& all, std::size_t rows_max) {
  const bool follows = HasMore(all);
  begin_ = follows ? end_ : all.begin();
  end_ = begin_;
  for (size_ = 0; size_ < rows_max && end_ != all.end(); ++size_) ++end_;
  return follows;
}

LimitLabels::Folded LimitLabels::Fold(const LimitTotals::Rows& rows, std::size_t labels_max) {
  Folded folded;
  MutexLock lock(mutex_);
  for (const auto& [name, numbers] : rows) {
    std::string label = MetricLabel(name);
    const bool is_others = label == kOtherLimits;
    absl::flat_hash_set<std::string>& labels =
        KindOf(name) == NameKind::kOfValue ? value_labels_ : labels_;
    if (!is_others && !labels.contains(label)) {
      if (labels.size() < labels_max) {
        labels.insert(label);
      } else {
        label = kOtherLimits;
        ++folded.folded_names;
      }
    }
    AddTotals(folded.rows[label], numbers);
  }
  return folded;
}

}  // namespace weir
