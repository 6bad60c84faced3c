// The words of the commands in a body of JSON.
//
//     JsonWords words(body);
//     words.Add("RL.ALLOW");                    // a literal
//     words.Add(words.Keep(decoded));           // a text of the body, copied once
//     absl::Status ended = words.EndCommand();  // words[0] is the command
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace weir {

class JsonWords {
 public:
  // The texts kept are together no longer than the body, because escapes are longer than the bytes
  // that they stand for.
  explicit JsonWords(std::string_view body) { text_.reserve(body.size()); }
  // The words may have been passwords.
  ~JsonWords();
  JsonWords(const JsonWords&) = delete;
  JsonWords& operator=(const JsonWords&) = delete;

  // A copy of a text of the body that lasts as long as this object. Requires: each part of the body
  // is kept at most once.
  [[nodiscard]] std::string_view Keep(std::string_view text);

  // Adds a word to the command that is being read.
  void Add(std::string_view word) { words_.push_back(word); }
  [[nodiscard]] bool is_empty() const noexcept { return words_.size() == Begin(); }
  // Ends the command. If it exceeds a bound of the Redis protocol (kRespCaps), drops it and fails
  // with kInvalidArgument.
  [[nodiscard]] absl::Status EndCommand();

  // The number of commands, and the words of each.
  [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
  [[nodiscard]] std::span<const std::string_view> operator[](std::size_t command) const;

 private:
  [[nodiscard]] std::size_t Begin() const noexcept { return ends_.empty() ? 0 : ends_.back(); }

  std::string text_;
  std::vector<std::string_view> words_;  // of all commands
  std::vector<std::size_t> ends_;        // in `words_`
};

}  // namespace weir
