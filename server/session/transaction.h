// A client's commands since MULTI, and the keys that it watches.
//
//     transaction.Open();
//     absl::Status queued = transaction.Queue(spec, words);  // instead of running the command
//     ... EXEC takes all of it and runs it (handlers/transaction.cc)
//
// Bounded, since it is a client's memory, and since no other client decides on these keys while it
// runs: by kUnitsMax units of work, of which a fast command is one and another one kWholeTableWork,
// or as many as it has words, and by the bytes of the words. Those of all commands lie in one text:
// a few large arrays, which cost little more than the words and leave the heap whole when they go.
// Belongs to its session's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "core/limiter/limiter.h"

namespace weir {

struct CommandSpec;

class Transaction {
 public:
  static constexpr std::size_t kUnitsMax = 4096;
  static constexpr std::size_t kBytesMax = 1024 * 1024;
  static constexpr std::size_t kWatchedMax = 4096;          // keys, and buckets of theirs
  static constexpr std::size_t kWatchedVisitsMax = 25'000;  // slots, to see whether they changed

  using Words = std::vector<std::string_view>;

  // Between MULTI and EXEC or DISCARD.
  [[nodiscard]] bool is_open() const noexcept { return open_; }
  void Open() noexcept { open_ = true; }

  // EXEC will refuse, as a request that should have been queued was not: what was is let go.
  void Abort();
  [[nodiscard]] bool is_aborted() const noexcept { return aborted_; }

  // Fails with kResourceExhausted, and aborts, where it would be too much. Keeps nothing if it is
  // aborted.
  absl::Status Queue(const CommandSpec& spec, std::span<const std::string_view> words);
  [[nodiscard]] const std::vector<const CommandSpec*>& queued() const noexcept {
    return queued_.specs;
  }
  // The words of each command: views into this object.
  [[nodiscard]] std::vector<Words> WordsOfAll() const;
  [[nodiscard]] std::size_t units() const noexcept { return units_; }

  // EXEC will do nothing if the key has changed since the first time. Fails with
  // kResourceExhausted.
  absl::Status Watch(Limiter::Watched watched);
  void Unwatch();
  [[nodiscard]] const std::vector<Limiter::Watched>& watched() const noexcept { return watched_; }
  [[nodiscard]] std::size_t watched_size() const noexcept { return watched_size_; }

  // Of the heap.
  [[nodiscard]] std::size_t held_bytes() const noexcept;

 private:
  // No string among them: one that another is assigned to keeps its memory.
  struct Queued {
    std::vector<const CommandSpec*> specs;
    std::vector<char> text;                   // the words, without anything between them
    std::vector<std::uint32_t> word_ends;     // in `text`
    std::vector<std::uint32_t> command_ends;  // in `word_ends`
  };

  bool open_ = false;
  bool aborted_ = false;
  Queued queued_;
  std::size_t units_ = 0;
  std::size_t bytes_ = 0;
  std::vector<Limiter::Watched> watched_;
  std::size_t watched_size_ = 0;
  std::size_t watched_visits_ = 0;
};

}  // namespace weir
