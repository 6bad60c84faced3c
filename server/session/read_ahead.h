// The commands of a client's pipeline that are parsed already and not executed yet.
//
// With a million keys most of a decision is waiting for memory: for the partition, then for the
// buckets. So the commands of a pipeline are parsed ahead, and while one is executed the memory of
// those behind it is on its way.
//
//     if (ahead.empty()) result = ahead.Fill(unread, parser, limiter);
//     const ReadAhead::Command command = ahead.Pop(limiter);
//     unread.remove_prefix(command.bytes);
//     ... execute it
//
// One a thread, and of no other; used by one session at a time: nothing is left in it between
// turns. Memory: about 1 MiB at most, if every command has as many words as it may.
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
  static constexpr std::size_t kKeysMax = 256;  // of all of them; the rest are not fetched
  // So many keys ahead of what is executed the buckets are fetched, and twice as many the
  // partitions. Measured: with 2 it waits, with 8 and more they get in each other's way.
  static constexpr std::size_t kKeysAhead = 4;

  struct Command {
    std::span<const std::string_view> words;  // good until the next Fill, as `keys`
    const CommandSpec* spec;                  // null: there is no such command
    std::size_t bytes;                // of the input, with those of empty requests around it
    std::span<const HashedKey> keys;  // whose buckets are on their way: the first of its keys
  };

  // Parses the next commands. kCommand: there are some; else what the parser says, with
  // parser.consumed(). Requires: empty().
  ParseResult Fill(std::string_view unread, RespParser& parser, Limiter& limiter);

  [[nodiscard]] bool empty() const noexcept { return next_ == commands_.size(); }
  // The next command. Requires: !empty().
  [[nodiscard]] Command next() const;
  // The same; the one behind it is the next then.
  [[nodiscard]] Command Pop(Limiter& limiter);
  // Forgets those that are left. Their bytes have to be parsed again.
  void Drop() noexcept { next_ = commands_.size(); }

 private:
  struct Parsed {
    const CommandSpec* spec;
    std::size_t bytes;
    std::size_t words_end;  // in words_; they begin where the last command's end
    std::size_t keys_end;   // in keys_, likewise
  };

  void AddKeys(const CommandSpec* spec, std::span<const std::string_view> words);
  void FetchAhead(std::size_t key, Limiter& limiter);

  std::vector<Parsed> commands_;
  std::vector<std::string_view> words_;
  std::vector<HashedKey> keys_;
  std::size_t next_ = 0;
  std::size_t partitions_fetched_ = 0;  // of so many keys
  std::size_t buckets_fetched_ = 0;
};

}  // namespace weir
