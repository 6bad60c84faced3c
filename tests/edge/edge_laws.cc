#include "tests/edge/edge_laws.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

__extension__ using Int128 = __int128;

std::int64_t ComesBack(const SimLimit& limit, Nanos time) {
  return static_cast<std::int64_t>(Int128{time.count()} * limit.count / limit.period.count());
}

std::string CheckBucket(const std::vector<SimTokens>& tokens, const SimEpoch& epoch, Nanos end,
                        Nanos life) {
  const SimLimit& limit = epoch.limit;
  for (std::size_t first = 0; first < tokens.size(); ++first) {
    const Nanos begin = tokens[first].at;
    if (begin < epoch.from) continue;
    const bool counts_all = begin - life >= epoch.from;
    std::int64_t fresh = 0;
    std::int64_t all = 0;
    for (std::size_t i = first; i < tokens.size() && tokens[i].at < end; ++i) {
      const Nanos time = tokens[i].at - begin;
      all += tokens[i].tokens;
      if (tokens[i].charged >= begin) fresh += tokens[i].tokens;
      if (fresh > limit.burst + ComesBack(limit, time)) {
        return absl::StrCat("E1 ", limit.word, ": ", fresh, " tokens charged in ", time.count(),
                            " ns from ", begin.count());
      }
      if (counts_all && all > limit.burst + ComesBack(limit, time + life)) {
        return absl::StrCat("E1 ", limit.word, ": ", all, " tokens spent in ", time.count(),
                            " ns from ", begin.count());
      }
    }
  }
  return "";
}

std::string CheckWindows(const std::vector<SimTokens>& tokens, const SimEpoch& epoch, Nanos end) {
  std::map<std::int64_t, std::int64_t> spent;
  for (const SimTokens& taken : tokens) {
    if (taken.charged < epoch.from || taken.at >= end) continue;
    const std::int64_t window = taken.at / epoch.limit.period;
    if ((spent[window] += taken.tokens) > epoch.limit.count) {
      return absl::StrCat("E2 ", epoch.limit.word, ": ", spent[window], " tokens in window ",
                          window);
    }
  }
  return "";
}

}  // namespace

std::string MatchSlices(std::vector<SimSlice> slices, std::vector<SimSpend>& spends) {
  std::ranges::stable_sort(slices, {}, &SimSlice::end);
  std::ranges::stable_sort(spends, {}, &SimSpend::at);
  std::vector<SimSpend> matched;
  for (const SimSpend& spend : spends) {
    std::int64_t missing = spend.edge ? spend.units : 0;
    if (!spend.edge) matched.push_back(spend);
    for (SimSlice& slice : slices) {
      if (missing == 0) break;
      const bool fits = slice.edge == *spend.edge && slice.form == spend.form && slice.left > 0 &&
                        slice.from <= spend.at && spend.at < slice.end;
      if (!fits) continue;
      const std::int64_t taken = std::min(missing, slice.left);
      slice.left -= taken;
      missing -= taken;
      matched.push_back({spend.at, taken, spend.form, spend.edge, slice.charged});
    }
    if (missing > 0) {
      return absl::StrCat("E3, E4 no slice covers ", missing, " units at ", spend.at.count());
    }
  }
  spends = std::move(matched);
  return "";
}

std::string CheckTokens(const std::vector<SimTokens>& tokens, const std::vector<SimEpoch>& epochs,
                        Nanos life) {
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    const Nanos end = i + 1 < epochs.size() ? epochs[i + 1].from : Nanos::max();
    const bool is_bucket = epochs[i].limit.kind == SimLimit::Kind::kBucket;
    std::string wrong = is_bucket ? CheckBucket(tokens, epochs[i], end, life)
                                  : CheckWindows(tokens, epochs[i], end);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace weir
