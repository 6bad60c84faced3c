#include "edge/request_words.h"

#include <algorithm>

#include "absl/status/statusor.h"

#include "core/words/word_reader.h"
#include "edge/demand.h"

namespace weir {
namespace {

constexpr std::string_view kCostWord = "COST";

// Whether a limit's cost may be another than COST says.
bool MayHaveOwnCost(std::string_view limit) {
  return limit.starts_with('@') || limit.find("cost=") != std::string_view::npos;
}

// Whether the limit is written with an option by which the primary slices nothing. An edge does not
// see those of a policy.
bool IsNeverSliced(std::string_view limit) {
  const std::size_t options = limit.find(',');
  if (options == std::string_view::npos) return false;
  limit.remove_prefix(options);
  return limit.find(",ban=") != std::string_view::npos ||
         limit.find(",shadow") != std::string_view::npos;
}

bool ReadGroup(std::span<const std::string_view> all, WordReader& words, EdgeGroup& group) {
  if (words.AtEnd()) return false;
  const std::size_t begin = words.before().size();
  words.Read();
  while (words.HasLimit()) words.Read();
  group.words = all.subspan(begin, words.before().size() - begin);
  if (group.words.size() < 2) return false;
  group.may_be_sliced = std::ranges::none_of(group.words.subspan(1), IsNeverSliced);
  if (!words.TryKeyword(Keyword::kCost)) return true;
  const absl::StatusOr<std::int64_t> units = words.ReadCost();
  if (!units.ok() || *units == 0 || *units > kUnitsMax) return false;
  if (std::ranges::any_of(group.words.subspan(1), MayHaveOwnCost)) {
    group.cost = words.before().back();
  } else {
    group.units = *units;
  }
  return true;
}

bool IsTooLong(const EdgeGroup& group) {
  std::size_t bytes = group.cost.size();
  for (const std::string_view word : group.words) bytes += word.size();
  return bytes > kFormBytesMax;
}

void Append(std::string_view word, std::string& text) {
  static_assert(kFormBytesMax <= UINT16_MAX);
  text += static_cast<char>(word.size() & 0xFF);
  text += static_cast<char>(word.size() >> 8);
  text += word;
}

}  // namespace

std::optional<EdgeRequest> ReadEdgeRequest(std::span<const std::string_view> words) {
  EdgeRequest request;
  WordReader reader(words);
  do {
    EdgeGroup& group = request.groups.emplace_back();
    if (!ReadGroup(words, reader, group) || IsTooLong(group)) return std::nullopt;
  } while (reader.TryKeyword(Keyword::kAnd));
  request.with_limits = reader.TryKeyword(Keyword::kWithLimits);
  if (!reader.AtEnd()) return std::nullopt;
  return request;
}

void WriteFormText(const EdgeGroup& group, std::string& text) {
  text.clear();
  for (const std::string_view word : group.words) Append(word, text);
  if (group.cost.empty()) return;
  Append(kCostWord, text);
  Append(group.cost, text);
}

std::vector<std::string_view> WordsOfForm(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t size = static_cast<unsigned char>(text[0]) +
                             (std::size_t{static_cast<unsigned char>(text[1])} << 8);
    words.push_back(text.substr(2, size));
    text.remove_prefix(2 + size);
  }
  return words;
}

}  // namespace weir
