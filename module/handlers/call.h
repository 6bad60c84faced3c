// One command that Redis runs for a client: its words, and the writer of its reply.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "core/commands/command_spec.h"
#include "module/api/redis_api.h"
#include "module/api/redis_reply.h"
#include "module/values/module.h"

namespace weir {

struct Call {
  Call(const CommandSpec& row, redis::Context* redis_context, std::span<redis::String*> redis_words)
      : spec(row), context(redis_context), names(redis_words), reply(redis_context) {
    words.reserve(names.size());
    for (const redis::String* name : names) {
      std::size_t bytes = 0;
      const char* const text = redis::StringPtrLen(name, &bytes);
      words.emplace_back(text, bytes);
    }
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // The words after the command's name, or after its name and the subcommand's.
  [[nodiscard]] std::span<const std::string_view> arguments() const {
    return std::span<const std::string_view>(words).subspan(
        spec.name.find('|') == std::string_view::npos ? 1 : 2);
  }
  // Returns Redis's own string for one of `words`: for that very view, not for an equal text.
  [[nodiscard]] redis::String* NameOf(std::string_view word) const {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i].data() == word.data() && words[i].size() == word.size()) return names[i];
    }
    return nullptr;
  }

  void Fail(std::string_view message) { reply.Error(absl::StrCat("ERR ", AbslView(message))); }
  // KeyLimiter reports a key of another type as kAborted.
  void Fail(const absl::Status& status) {
    if (absl::IsAborted(status)) return FailWrongType();
    Fail(StdView(status.message()));
  }
  void FailWrongType() {
    reply.Error("WRONGTYPE Operation against a key holding the wrong kind of value");
  }

  const CommandSpec& spec;
  redis::Context* const context;
  const std::span<redis::String*> names;
  absl::InlinedVector<std::string_view, 16> words;
  RedisReply reply;
};

}  // namespace weir
