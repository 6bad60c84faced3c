// Transcripts: commands, their replies, and the time that passes between them.
//
//     > RL.ALLOW user:42 2/s                  a command, behind "> "
//     1 1 0 500 0                             its reply (reply_text.h), to the next command or
//                                             comment
//     # 500 ms later                          time that passes: a whole number of ns, us, ms, s,
//                                             min, h or days
//     # Anything else is a comment.
//
// Replay() runs the commands and writes the transcript again with the replies that it sees. A page
// of transcripts is true if a replay changes nothing.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "core/base/instant.h"
#include "tests/support/dialogue.h"
#include "tests/support/fake_clock.h"

namespace weir {

// The time that a line like "# 500 ms later" names; unset for any other line.
inline std::optional<Nanos> TimeThatPasses(std::string_view line) {
  constexpr std::string_view kBegin = "# ";
  constexpr std::string_view kEnd = " later";
  constexpr std::array<std::pair<std::string_view, Nanos>, 7> kUnits = {{
      {" ns", Nanos{1}},
      {" us", std::chrono::microseconds{1}},
      {" ms", std::chrono::milliseconds{1}},
      {" s", std::chrono::seconds{1}},
      {" min", std::chrono::minutes{1}},
      {" h", std::chrono::hours{1}},
      {" days", std::chrono::hours{24}},
  }};
  if (!line.starts_with(kBegin) || !line.ends_with(kEnd)) return std::nullopt;
  line.remove_prefix(kBegin.size());
  line.remove_suffix(kEnd.size());
  std::int64_t count = 0;
  const auto [behind, error] = std::from_chars(line.begin(), line.end(), count);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view unit(behind, static_cast<std::size_t>(line.end() - behind));
  for (const auto& [name, nanos] : kUnits) {
    if (unit == name) return count * nanos;
  }
  return std::nullopt;
}

// Returns `transcript` with the replies replaced by those that `client` gives now. Each line ends
// in '\n'.
inline std::string Replay(Dialogue& client, FakeClock& clock, std::string_view transcript) {
  std::string seen;
  while (!transcript.empty()) {
    const std::size_t end = transcript.find('\n');
    WEIR_CHECK(end != std::string_view::npos);
    const std::string_view line = transcript.substr(0, end);
    transcript.remove_prefix(end + 1);
    const bool is_command = line.starts_with("> ");
    if (!is_command && !line.starts_with('#')) continue;
    seen.append(line) += '\n';
    const std::optional<Nanos> span = TimeThatPasses(line);
    WEIR_CHECK(span.has_value() ==
               (!is_command && line.ends_with(" later")));  // else a misspelling
    if (span) clock.Advance(*span);
    if (is_command) seen += client.Show(line.substr(2)) + "\n";
  }
  return seen;
}

}  // namespace weir
