// Rules about the English of comments, string literals and pages.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "tests/tidy/rules.h"

namespace weir::tidy {
namespace {

struct BannedPhrase {
  std::string_view words;  // in lower case
  std::string_view instead;
  bool in_literals = true;  // else it may be a name there, or part of a reply that is specified
};

constexpr std::array kBannedPhrases = {
    BannedPhrase{"anew", "again"},
    BannedPhrase{"for ever", "forever"},
    BannedPhrase{"whom", "a noun: the client that, the keys that", false},
    BannedPhrase{"whoever", "a client that, a caller that"},
    BannedPhrase{"by itself", "automatically, by default, alone"},
    BannedPhrase{"by themselves", "automatically, alone"},
    BannedPhrase{"in vain", "needlessly, without success"},
    BannedPhrase{"to be had", "available"},
    BannedPhrase{"is no more", "no longer exists, is gone"},
    BannedPhrase{"are no more", "no longer exist, are gone"},
    BannedPhrase{"that there is not", "missing, unknown"},
    BannedPhrase{"who comes", "a client that connects"},
    BannedPhrase{"who leaves", "a client that disconnects"},
    BannedPhrase{"who goes", "a client that disconnects"},
    BannedPhrase{"in the midst", "in the middle"},
    BannedPhrase{"none more", "no more"},
    BannedPhrase{"he", "they, or the client: it"},
    BannedPhrase{"his", "their, or the client's: its"},
    BannedPhrase{"him", "them, or the client: it"},
    BannedPhrase{"that is none", "invalid, missing, or the noun again"},
    BannedPhrase{"that are none", "invalid, missing, or the noun again"},
    BannedPhrase{"it is none", "invalid, missing, or the noun again"},
    BannedPhrase{"they are none", "invalid, missing, or the noun again"},
    BannedPhrase{"all the same", "anyway, still"},
    BannedPhrase{"by half", "partly"},
    BannedPhrase{"stood still", "was suspended, did not advance"},
    BannedPhrase{"stands still", "is suspended, is stopped, does not advance"},
    BannedPhrase{"the time is up", "timed out"},
    BannedPhrase{"is told", "is given, receives, hears"},
    BannedPhrase{"are told", "are given, receive, hear"},
    BannedPhrase{"goes on", "continues"},
    BannedPhrase{"heeds", "obeys"},
    BannedPhrase{"of theirs", "their, before the noun"},
    BannedPhrase{"that of those", "the noun again"},
    BannedPhrase{"nobody", "no client, no thread, none", false},
    BannedPhrase{"somebody", "a client, another thread", false},
};

// The comment and the literals of a line, in lower case. In Markdown the whole line is the comment;
// Python and JavaScript have comments only.
struct Prose {
  std::string comment;
  std::string literals;
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

Prose ProseOf(const SourceFile& file, std::size_t index) {
  const std::string line = Lower(file.lines[index]);
  if (file.path.ends_with(".md")) return {line, ""};
  if (file.path.ends_with(".py") || file.path.ends_with(".js")) {
    const std::size_t comment = line.find(file.path.ends_with(".py") ? "# " : "// ");
    return {comment == std::string::npos ? "" : line.substr(comment), ""};
  }
  if (!IsCpp(file)) return {};
  const std::string& code = file.code[index];
  std::size_t comment = line.find("//");
  while (comment != std::string::npos && code[comment] != ' ')
    comment = line.find("//", comment + 1);
  Prose prose;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool hidden = code[i] == ' ';
    std::string& text = i >= comment ? prose.comment : prose.literals;
    text.push_back(hidden ? line[i] : '|');
  }
  return prose;
}

// A phrase may continue on the next line.
bool HasPhrase(std::string_view text, std::string_view next, std::string_view words) {
  if (ContainsWord(text, words)) return true;
  const std::size_t space = words.find(' ');
  if (space == std::string_view::npos) return false;
  while (!next.empty() && (next.front() == ' ' || next.front() == '/' || next.front() == '|')) {
    next.remove_prefix(1);
  }
  const std::string joined = std::string(text) + " " + std::string(next.substr(0, words.size()));
  return ContainsWord(joined, words);
}

}  // namespace

Findings BannedPhrases(const SourceFile& file) {
  if (file.path.starts_with("tests/tidy/") || file.path.starts_with("bench/results/")) return {};
  Findings findings;
  Prose next = file.lines.empty() ? Prose{} : ProseOf(file, 0);
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const Prose prose = std::move(next);
    next = i + 1 < file.lines.size() ? ProseOf(file, i + 1) : Prose{};
    for (const BannedPhrase& phrase : kBannedPhrases) {
      const bool banned =
          HasPhrase(prose.comment, next.comment, phrase.words) ||
          (phrase.in_literals && HasPhrase(prose.literals, next.literals, phrase.words));
      if (!banned) continue;
      findings.push_back(
          {file.path, i + 1,
           "\"" + std::string(phrase.words) + "\": say " + std::string(phrase.instead)});
    }
  }
  return findings;
}

Findings BrokenFormulas(const SourceFile& file) {
  constexpr std::array<std::string_view, 8> kOperators = {"*",  "+",  "<", ">",
                                                          "<=", ">=", "=", "=="};
  constexpr std::size_t kFormulaIndent = 4;
  if (!IsCpp(file)) return {};
  Findings findings;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    std::string_view text = file.lines[i];
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (!text.starts_with("//")) continue;
    text.remove_prefix(2);
    const std::size_t indent = std::min(text.find_first_not_of(' '), text.size());
    const std::string_view last = text.substr(text.rfind(' ') + 1);
    const bool ends =
        indent < kFormulaIndent && std::ranges::find(kOperators, last) != kOperators.end();
    if (ends || text.substr(indent).starts_with("= ")) {
      findings.push_back({file.path, i + 1, "a formula on two lines: give it a line of its own"});
    }
  }
  return findings;
}

Findings Opening(const SourceFile& file) {
  constexpr std::array<std::string_view, 4> kMarks = {"// ", "# ", "-- ", "\"\"\""};
  constexpr std::array<std::string_view, 6> kWords = {"What",    "Who", "Whom",
                                                      "Whoever", "Of",  "How"};
  if (file.path.ends_with(".md") || file.lines.empty()) return {};
  const std::size_t first = file.lines.front() == "<?php" ? 1 : 0;
  if (first == file.lines.size()) return {};
  for (const std::string_view mark : kMarks) {
    for (const std::string_view word : kWords) {
      const std::string opening = std::string(mark) + std::string(word) + " ";
      if (!file.lines[first].starts_with(opening)) continue;
      return {{file.path, first + 1, "a file's first sentence begins with a noun or a verb"}};
    }
  }
  return {};
}

}  // namespace weir::tidy
