// The commands of a client since MULTI, and the keys that it watches.
//
//     transaction.Open();
//     units = Transaction::UnitsOf(spec, words, policies);
//     absl::Status queued = transaction.Queue(spec, words, units);  // instead of running it
//     ... EXEC takes all of it and runs it (handlers/transaction.cc)
//
// It is bounded, because it takes memory, and because no other client can decide on these keys
// while it runs: it has at most kUnitsMax units of work (UnitsOf), and its words have at most
// kBytesMax bytes. The words of all commands lie in a few large arrays, which take little more
// memory than the words and do not fragment the heap. Belongs to its session's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "core/base/check.h"
#include "core/limiter/isolation.h"

namespace weir {

class Policies;
struct CommandSpec;

class Transaction {
 public:
  static constexpr std::size_t kUnitsMax = 4096;
  static constexpr std::size_t kBytesMax = 1024 * 1024;
  static constexpr std::size_t kWatchedMax = 4096;          // watched keys and their buckets
  static constexpr std::size_t kWatchedVisitsMax = 25'000;  // slots visited to see their changes

  using Words = std::vector<std::string_view>;

  // True between MULTI and EXEC or DISCARD.
  [[nodiscard]] bool is_open() const noexcept { return open_; }
  void Open() noexcept {
    WEIR_CHECK(!open_);
    open_ = true;
  }

  // Drops the queued commands and makes EXEC refuse, because a command could not be queued.
  void Abort();
  [[nodiscard]] bool is_aborted() const noexcept { return aborted_; }

  // The units of work of a command, each about a microsecond, without regard to what it names: 1 if
  // it is fast, else kWholeTableWork or its number of words, whichever is more.
  [[nodiscard]] static std::size_t LeastUnitsOf(const CommandSpec& spec,
                                                std::size_t words) noexcept;
  // The units that a command counts as in a transaction. Of a fast command four words are one unit,
  // where a policy adds as many words as it, or an override of it, has ever had limits. The work of
  // its row (CommandSpec::work), or LeastUnitsOf, may be more than that.
  [[nodiscard]] static std::size_t UnitsOf(const CommandSpec& spec,
                                           std::span<const std::string_view> words,
                                           const Policies& policies);

  // Adds a command. Fails with kResourceExhausted, and aborts, if it would exceed a bound. An
  // aborted transaction keeps no command.
  absl::Status Queue(const CommandSpec& spec, std::span<const std::string_view> words,
                     std::size_t units);
  [[nodiscard]] const std::vector<const CommandSpec*>& queued() const noexcept {
    return queued_.specs;
  }
  // The words of each command, as views into this object.
  [[nodiscard]] std::vector<Words> WordsOfAll() const;
  [[nodiscard]] std::size_t units() const noexcept { return units_; }

  // Watches a key: EXEC will do nothing if it has changed since its first Watch. Fails with
  // kResourceExhausted.
  absl::Status Watch(WatchedKey watched);
  void Unwatch();
  [[nodiscard]] const std::vector<WatchedKey>& watched() const noexcept { return watched_; }
  [[nodiscard]] std::size_t watched_size() const noexcept { return watched_size_; }

  // The heap bytes of this object.
  [[nodiscard]] std::size_t held_bytes() const noexcept;

 private:
  // It has no std::string, because a string keeps its memory when another one is assigned to it.
  struct Queued {
    std::vector<const CommandSpec*> specs;
    std::vector<char> text;                   // all words, without separators
    std::vector<std::uint32_t> word_ends;     // in `text`
    std::vector<std::uint32_t> command_ends;  // in `word_ends`
  };

  bool open_ = false;
  bool aborted_ = false;
  Queued queued_;
  std::size_t units_ = 0;
  std::size_t bytes_ = 0;
  std::vector<WatchedKey> watched_;
  std::size_t watched_size_ = 0;
  std::size_t watched_visits_ = 0;
};

}  // namespace weir
