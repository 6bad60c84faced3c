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

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

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

  [[nodiscard]] bool empty() const noexcept { return next_ == commands_.size(); }
  // The command of these words, for which nothing is prefetched.
  [[nodiscard]] static Command Alone(std::span<const std::string_view> words);
  // The next command. Requires: !empty().
  [[nodiscard]] Command next() const;
  // Returns the next command and moves on to the one behind it. Requires: !empty().
  [[nodiscard]] Command Pop(Limiter& limiter);
  // Drops the remaining commands. Their bytes must be parsed again.
  void Drop() noexcept { next_ = commands_.size(); }
  void Drop(RespParser& parser) noexcept {  // which will do so
    Drop();
    parser.Restart();
  }

 private:
  struct Parsed {
    const CommandSpec* spec;
    std::size_t bytes;
    std::size_t words_end;  // in words_; the words begin where those of the last command end
    std::size_t keys_end;   // in keys_, likewise
  };

  void Clear() noexcept;
  void Add(const CommandSpec* spec, std::span<const std::string_view> words, std::size_t bytes);
  void BeginToFetch(Limiter& limiter);
  void FetchAhead(std::size_t key, Limiter& limiter);

  std::vector<Parsed> commands_;
  std::vector<std::string_view> words_;
  std::vector<HashedKey> keys_;
  std::size_t next_ = 0;
  std::size_t partitions_fetched_ = 0;  // the number of keys whose partitions are prefetched
  std::size_t buckets_fetched_ = 0;     // the number of keys whose buckets are prefetched
};

}  // namespace weir
