// The results of a batch or a pipeline, as they come: a list in JSON, in as many turns as they
// need.
//
//     JsonResults results("{\"results\":", kTooLong);
//     AppendSomething(results.Next());          // for each of them
//     results.End(exchange.session());
//     exchange.Answer(200, kJson, results.Finish("}"));
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir {

class Session;

class JsonResults {
 public:
  // `begin`: the text in front of the list. `too_long`: the error in the place of a result that
  // there is no room for; it must last as long as the object.
  JsonResults(std::string_view begin, std::string_view too_long);

  // The number of results that have ended.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  // Begins a result, which the caller appends.
  [[nodiscard]] std::string& Next();
  // Ends it: charges the session for its bytes, and replaces it if there is no room.
  void End(Session& session);

  // The whole text, once.
  [[nodiscard]] std::string Finish(std::string_view end);
  [[nodiscard]] std::size_t held_bytes() const noexcept { return text_.capacity(); }

 private:
  std::string text_;
  const std::string_view too_long_;
  std::size_t count_ = 0;
  std::size_t result_begin_ = 0;
};

}  // namespace weir
