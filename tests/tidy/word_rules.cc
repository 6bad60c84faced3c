// Rules about words that a line may not have.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "tests/tidy/rules.h"

namespace weir::tidy {
namespace {

using Paths = std::vector<std::string_view>;

struct Ban {
  std::vector<std::string_view> words;
  std::string_view instead;
  Paths within = {""};  // the paths, or beginnings of paths, that it holds for
  Paths except = {};    // and of these those that it does not hold for
};

const std::vector<Ban>& Bans() {
  static const Paths kLibraries = {"core/",   "protocol/", "persistence/", "server/",
                                   "module/", "replay/",   "replication/", "rls/",
                                   "edge/",   "http2/",    "manual/",      "check/"};
  static const std::vector<Ban> kBans = {
      {.words = {"system_clock::now", "steady_clock::now", "high_resolution_clock", "clock_gettime",
                 "gettimeofday", "time(nullptr)", "time(NULL)", "time(0)"},
       .instead = "take `now` as an argument, or a Clock: one place reads the time of the system",
       .except = {"server/os/system_clock.cc", "module/api/wall_time.cc",
                  "tests/server/os/system_clock_test.cc", "tests/commands/injected_time.cc",
                  "bench/", "clients/", "tests/server/loopback.h"}},
      {.words = {"sleep_for", "sleep_until", "sleep(", "usleep", "nanosleep"},
       .instead = "wait for the event itself; in a test move a FakeClock",
       .except = {"bench/", "clients/python/weir_client/aio.py"}},
      {.words = {"rand(", "srand(", "random_shuffle"},
       .instead = "use the seeded generator of tests/support, or libsodium's randombytes_buf"},
      {.words = {"std::cout", "std::cerr", "std::clog", "printf(", "fprintf(", "puts("},
       .instead = "return a value; server/ logs with spdlog",
       .within = kLibraries,
       .except = {"core/base/check.h", "server/program.cc", "manual/main.cc", "replay/main.cc",
                  "check/main.cc"}},
      {.words = {"throw"},
       .instead = "return absl::Status, or WEIR_CHECK what cannot be",
       .except = {"clients/", "tests/clients/programs/"}},
      {.words = {"assert("}, .instead = "use WEIR_CHECK or WEIR_DCHECK: they stay in a release"},
      {.words = {"atoi", "atol", "atoll", "atof", "strtol", "strtoll", "strtoul", "strtoull",
                 "strtod", "std::stoi", "std::stol", "std::stoll", "std::stoul", "std::stoull"},
       .instead = "use std::from_chars: it sees every error and needs no NUL",
       .within = kLibraries},
      {.words = {"strcpy", "strcat", "sprintf(", "vsprintf(", "gets("},
       .instead = "use std::string: these know no bound"},
      {.words = {"absl::Mutex", "absl::MutexLock"},
       .instead = "use core/base/mutex.h: ThreadSanitizer does not see into abseil's"},
      {.words = {"double", "float"},
       .instead = "use exact integers: a rounded time admits one request too many",
       .within = {"core/"}},
  };
  return kBans;
}

bool StartsWithAny(std::string_view path, const Paths& beginnings) {
  return std::ranges::any_of(beginnings,
                             [path](std::string_view start) { return path.starts_with(start); });
}

Findings FindWords(const SourceFile& file, const std::vector<std::string>& lines,
                   const std::vector<std::string_view>& words, std::string_view instead) {
  Findings findings;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const std::string_view word : words) {
      if (ContainsWord(lines[i], word)) {
        findings.push_back({file.path, i + 1, std::string(word) + ": " + std::string(instead)});
      }
    }
  }
  return findings;
}

}  // namespace

Findings BannedWords(const SourceFile& file) {
  if (!IsCpp(file) && !file.path.ends_with(".py")) return {};
  Findings findings;
  for (const Ban& ban : Bans()) {
    if (!StartsWithAny(file.path, ban.within) || StartsWithAny(file.path, ban.except)) continue;
    const std::vector<std::string>& lines = IsCpp(file) ? file.code : file.lines;
    std::ranges::move(FindWords(file, lines, ban.words, ban.instead), std::back_inserter(findings));
  }
  return findings;
}

Findings Leftovers(const SourceFile& file) {
  // Spelled in two parts, so that this file passes its own rule.
  return FindWords(file, file.lines,
                   {"TO"
                    "DO",
                    "FIX"
                    "ME",
                    "XX"
                    "X",
                    "HA"
                    "CK"},
                   "do it, or open an issue");
}

}  // namespace weir::tidy
