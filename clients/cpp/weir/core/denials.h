// Denials that are kept: the same words are denied again without a request.
//
// A denial holds for the time that it names, and is kept for a second of it at most. So a key under
// attack costs one request per second and process, and what loosens a limit takes effect after a
// second. A denial without a time is kept for a second, too. At most 10,000 are kept; then all are
// forgotten.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "weir/core/settings.h"
#include "weir/decision.h"
#include "weir/words.h"

namespace weir::client {

// Thread-safe. O(bytes of the words).
class Denials {
 public:
  // A name for these words, asked with or without rows.
  [[nodiscard]] static std::string NameOf(const Words& words, bool with_rows);

  // The Decision as it is now, if it is kept.
  [[nodiscard]] std::optional<Decision> Find(const std::string& name, Clock::time_point now);

  // Keeps a denial that was asked for at `now`.
  void Keep(const std::string& name, Clock::time_point now, const Decision& decision);

 private:
  struct Kept {
    Clock::time_point end;
    Clock::time_point asked;
    Decision decision;
  };

  std::mutex mutex_;
  std::unordered_map<std::string, Kept> kept_;  // guarded by mutex_
};

}  // namespace weir::client
