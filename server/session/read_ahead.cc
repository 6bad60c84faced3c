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
  while (command_count_ < kCommandsMax && goes_on) {
    result = parser.Parse(unread);
    unread.remove_prefix(parser.consumed());
    if (result != ParseResult::kCommand) break;
    const std::span<const std::string_view> words = parser.words();
    const CommandSpec* const spec = FindRow(words);
    // The next request overwrites words in the parser, and after a wait everything is parsed again.
    goes_on = parser.words_are_in_input() && !(spec && spec->Is(kBlocking));
    Add(spec, words, parser.consumed());
  }
  if (command_count_ == 0) return result;
  if (result != ParseResult::kCommand) {
    commands_[command_count_ - 1].bytes += parser.consumed();
  }
  BeginToFetch(limiter);
  return ParseResult::kCommand;
}

void ReadAhead::Fill(std::span<const std::span<const std::string_view>> commands,
                     Limiter& limiter) {
  WEIR_DCHECK(empty());
  Clear();
  for (const auto words : commands.first(std::min(commands.size(), kCommandsMax))) {
    Add(FindRow(words), words, 0);
  }
  BeginToFetch(limiter);
}

void ReadAhead::Clear() noexcept {
  words_.clear();
  command_count_ = 0;
  key_count_ = 0;
  next_ = 0;
  partitions_fetched_ = 0;
  buckets_fetched_ = 0;
}

// Most commands of a pipeline have one name, which saves the look-up.
const CommandSpec* ReadAhead::FindRow(std::span<const std::string_view> words) {
  if (last_row_ && words[0] == last_row_->name) return last_row_;
  const CommandSpec* const row = FindRequested(words);
  const bool has_second_name = row && (row->Is(kContainer) || row->Is(kSubcommand));
  if (!has_second_name) last_row_ = row;
  return row;
}

void ReadAhead::Add(const CommandSpec* spec, std::span<const std::string_view> words,
                    std::size_t bytes) {
  const std::size_t keys_begin = key_count_;
  if (spec && spec->arity.Allows(words.size())) {
    ForEachKey(*spec, words, [this](std::string_view key) {
      if (key_count_ < kKeysMax) keys_[key_count_++].text = key;
    });
  }
  commands_[command_count_++] = {spec,         bytes,      words_.size(),
                                 words.size(), keys_begin, key_count_ - keys_begin};
  // A request has a few words, and insert() costs 50 instructions before the first.
  for (const std::string_view word : words) words_.push_back(word);
}

void ReadAhead::BeginToFetch(Limiter& limiter) {
  if (command_count_ == 1) {  // A prefetch would not overlap with other work.
    key_count_ = 0;
    commands_.front().keys = 0;
  }
  FetchAhead(0, limiter);
}

// `key`: the first key of the commands behind the one that is executed next.
void ReadAhead::FetchAhead(std::size_t key, Limiter& limiter) {
  const std::size_t partitions = std::min(key_count_, key + 2 * kKeysAhead);
  for (; partitions_fetched_ < partitions; ++partitions_fetched_) {
    HashedKey& next = keys_[partitions_fetched_];
    next.hash = limiter.PrefetchPartition(next.text);
  }
  const std::size_t buckets = std::min(key_count_, key + kKeysAhead);
  for (; buckets_fetched_ < buckets; ++buckets_fetched_) {
    limiter.PrefetchBuckets(keys_[buckets_fetched_].hash);
  }
}

ReadAhead::Command ReadAhead::Alone(std::span<const std::string_view> words) {
  return {words, FindRequested(words), 0, {}};
}

ReadAhead::Command ReadAhead::Pop(Limiter& limiter) {
  const std::size_t keys_end = commands_[next_].keys_begin + commands_[next_].keys;
  FetchAhead(keys_end, limiter);
  WEIR_DCHECK(keys_end <= partitions_fetched_);  // Else a key's hash is missing.
  const Command command = next();
  ++next_;
  return command;
}

}  // namespace weir
