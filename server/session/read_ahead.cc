#include "server/session/read_ahead.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/commands/command_keys.h"
#include "server/commands/command_table.h"

namespace weir {

ParseResult ReadAhead::Fill(std::string_view unread, RespParser& parser, Limiter& limiter) {
  WEIR_DCHECK(empty());
  Clear();
  ParseResult result = ParseResult::kCommand;
  bool goes_on = true;
  while (commands_.size() < kCommandsMax && goes_on) {
    result = parser.Parse(unread);
    unread.remove_prefix(parser.consumed());
    if (result != ParseResult::kCommand) break;
    const std::span<const std::string_view> words = parser.words();
    const CommandSpec* const spec = FindRequested(words);
    // The next request overwrites words in the parser, and after a wait everything is parsed again.
    goes_on = parser.words_are_in_input() && !(spec && spec->Is(kBlocking));
    Add(spec, words, parser.consumed());
  }
  if (commands_.empty()) return result;
  if (result != ParseResult::kCommand) commands_.back().bytes += parser.consumed();
  BeginToFetch(limiter);
  return ParseResult::kCommand;
}

void ReadAhead::Fill(std::span<const std::span<const std::string_view>> commands,
                     Limiter& limiter) {
  WEIR_DCHECK(empty());
  Clear();
  for (const auto words : commands.first(std::min(commands.size(), kCommandsMax))) {
    Add(FindRequested(words), words, 0);
  }
  BeginToFetch(limiter);
}

void ReadAhead::Clear() noexcept {
  commands_.clear();
  words_.clear();
  keys_.clear();
  next_ = 0;
  partitions_fetched_ = 0;
  buckets_fetched_ = 0;
}

void ReadAhead::Add(const CommandSpec* spec, std::span<const std::string_view> words,
                    std::size_t bytes) {
  if (spec && spec->arity.Allows(words.size())) {
    ForEachKey(*spec, words, [this](std::string_view key) {
      if (keys_.size() < kKeysMax) keys_.push_back({key, {}});
    });
  }
  // A request has a few words, and insert() costs 50 instructions before the first.
  for (const std::string_view word : words) words_.push_back(word);
  commands_.push_back({spec, bytes, words_.size(), keys_.size()});
}

void ReadAhead::BeginToFetch(Limiter& limiter) {
  if (commands_.size() == 1) {  // A prefetch would not overlap with other work.
    keys_.clear();
    commands_.front().keys_end = 0;
  }
  FetchAhead(0, limiter);
}

// `key`: the first key of the commands behind the one that is executed next.
void ReadAhead::FetchAhead(std::size_t key, Limiter& limiter) {
  const std::size_t partitions = std::min(keys_.size(), key + 2 * kKeysAhead);
  for (; partitions_fetched_ < partitions; ++partitions_fetched_) {
    HashedKey& next = keys_[partitions_fetched_];
    next.hash = limiter.PrefetchPartition(next.text);
  }
  const std::size_t buckets = std::min(keys_.size(), key + kKeysAhead);
  for (; buckets_fetched_ < buckets; ++buckets_fetched_) {
    limiter.PrefetchBuckets(keys_[buckets_fetched_].hash);
  }
}

ReadAhead::Command ReadAhead::Alone(std::span<const std::string_view> words) {
  return {words, FindRequested(words), 0, {}};
}

ReadAhead::Command ReadAhead::next() const {
  WEIR_DCHECK(!empty());
  const std::size_t words = next_ == 0 ? 0 : commands_[next_ - 1].words_end;
  const std::size_t keys = next_ == 0 ? 0 : commands_[next_ - 1].keys_end;
  const Parsed& parsed = commands_[next_];
  return {std::span<const std::string_view>(words_).subspan(words, parsed.words_end - words),
          parsed.spec, parsed.bytes,
          std::span<const HashedKey>(keys_).subspan(keys, parsed.keys_end - keys)};
}

ReadAhead::Command ReadAhead::Pop(Limiter& limiter) {
  FetchAhead(commands_[next_].keys_end, limiter);
  WEIR_DCHECK(commands_[next_].keys_end <= partitions_fetched_);  // Else a key's hash is missing.
  const Command command = next();
  ++next_;
  return command;
}

}  // namespace weir
