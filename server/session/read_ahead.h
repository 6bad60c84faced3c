// The commands of a client's pipeline, or of a batch over HTTP, that are parsed and not executed
// yet.
//
// With a million keys, a decision mostly waits for memory: for the partition, then for the buckets.
// So the commands of a pipeline are parsed ahead, and while one is executed, the memory for those
// behind it is prefetched.
//
//     if (ahead.empty()) result = ahead.Fill(unread, parser, limiter);
//     const ReadAhead::Command command = ahead.Pop(limiter);
//     unread.remove_prefix(command.bytes);
//     ... execute it
//
// Each thread has its own, which one session uses at a time: it is empty between turns. Memory: at
// most about 1 MiB, if every command has as many words as it may.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/limiter/limiter.h"
#include "core/table/key_hash.h"
#include "protocol/resp_parser.h"

namespace weir {

struct CommandSpec;

class ReadAhead {
 public:
  static constexpr std::size_t kCommandsMax = 64;
  static constexpr std::size_t kKeysMax = 256;  // of all commands; further keys are not prefetched
  // The number of keys ahead for which buckets are prefetched; partitions are prefetched twice as
  // far ahead. Measured: with 2, execution waits for memory; with 8 or more, prefetches evict each
  // other.
  static constexpr std::size_t kKeysAhead = 4;

  struct Command {
    std::span<const std::string_view> words;  // valid until the next Fill, like `keys`
    const CommandSpec* spec;                  // null: there is no such command
    std::size_t bytes;                // of the input, including empty requests around the command
    std::span<const HashedKey> keys;  // its first keys, whose buckets are prefetched
  };

  // Parses the next commands. Returns kCommand if there are any, else the parser's result, which
  // parser.consumed() belongs to. Requires: empty().
  ParseResult Fill(std::string_view unread, RespParser& parser, Limiter& limiter);
  // Takes the words of commands that are parsed already, of which it keeps views: the first ones,
  // at most kCommandsMax. Requires: empty().
  void Fill(std::span<const std::span<const std::string_view>> commands, Limiter& limiter);

  [[nodiscard]] bool empty() const noexcept { return next_ == command_count_; }
  // The command of these words, for which nothing is prefetched.
  [[nodiscard]] static Command Alone(std::span<const std::string_view> words);
  // The next command. Requires: !empty().
  [[nodiscard]] Command next() const {
    WEIR_DCHECK(!empty());
    const Parsed& parsed = commands_[next_];
    return {std::span(words_).subspan(parsed.words_begin, parsed.words), parsed.spec, parsed.bytes,
            std::span(keys_).subspan(parsed.keys_begin, parsed.keys)};
  }
  // Returns the next command and moves on to the one behind it. Requires: !empty().
  [[nodiscard]] Command Pop(Limiter& limiter);
  // Drops the remaining commands. Their bytes must be parsed again.
  void Drop() noexcept { next_ = command_count_; }
  void Drop(RespParser& parser) noexcept {  // which will do so
    Drop();
    parser.Restart();
  }

 private:
  struct Parsed {
    const CommandSpec* spec;
    std::size_t bytes;
    std::size_t words_begin;  // in words_
    std::size_t words;
    std::size_t keys_begin;  // in keys_
    std::size_t keys;
  };

  void Clear() noexcept;
  [[nodiscard]] const CommandSpec* FindRow(std::span<const std::string_view> words);
  void Add(const CommandSpec* spec, std::span<const std::string_view> words, std::size_t bytes);
  void BeginToFetch(Limiter& limiter);
  void FetchAhead(std::size_t key, Limiter& limiter);

  std::array<Parsed, kCommandsMax> commands_;  // the first command_count_ are set
  std::array<HashedKey, kKeysMax> keys_;       // the first key_count_
  std::vector<std::string_view> words_;
  std::size_t command_count_ = 0;
  std::size_t key_count_ = 0;
  std::size_t next_ = 0;
  const CommandSpec* last_row_ = nullptr;  // of a command that has no second name; may be null
  std::size_t partitions_fetched_ = 0;     // the number of keys whose partitions are prefetched
  std::size_t buckets_fetched_ = 0;        // the number of keys whose buckets are prefetched
};

}  // namespace weir
