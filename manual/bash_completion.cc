// The completion of the command lines of weir-server, weir-check and weir-replay in bash.
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include "check/file_check.h"
#include "core/base/status.h"
#include "manual/documents.h"
#include "replay/replay_options.h"
#include "server/config/option_help.h"
#include "server/config/options.h"

namespace weir {
namespace {

constexpr std::string_view kCompletionHelpers =
    R"(# Completion of weir-server, weir-check and weir-replay in bash.
# Made by `./dev docs`: change manual/ instead.

# Sets cur to the word to complete, and prev to the option that it may be the value of: bash splits
# --option=value at the equals sign.
_weir_words() {
  cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]] && ((COMP_CWORD > 1)); then
    prev=${COMP_WORDS[COMP_CWORD - 2]}
  fi
}

# Offers those of the given words that begin with cur, or with -f files.
_weir_offer() {
  local word
  COMPREPLY=()
  if [[ $1 == -f ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$cur")
    return
  fi
  for word in "$@"; do
    [[ $word != "$cur"* ]] || COMPREPLY+=("$word")
  done
}
)";

// One program: its options, and what follows each that takes a value.
struct Program {
  std::string name{};
  std::vector<std::string> options{};
  std::vector<std::string> file_options{};
  std::vector<std::string> free_options{};  // those whose values cannot be guessed
  std::vector<std::string> cases{};         // the lines of other options
  bool takes_file = false;                  // as an argument
};

Program ServerProgram() {
  Program program{.name = "weir-server", .options = {"--help", "--ping", "--version"}};
  std::vector<std::string> groups;
  for (const OptionGroupTitle& group : OptionGroups()) groups.emplace_back(group.word);
  program.cases.push_back(absl::StrCat("--help) _weir_offer ", absl::StrJoin(groups, " "), " ;;"));
  for (const OptionSpec& spec : OptionTable()) {
    std::string name = absl::StrCat("--", AbslView(spec.name));
    const std::string_view kind = OptionKind(spec);
    if (kind == "WORD") {
      program.cases.push_back(absl::StrCat(
          name, ") _weir_offer ", absl::StrReplaceAll(OptionChoices(spec), {{"|", " "}}), " ;;"));
    } else if (kind == "TEXT" && !std::holds_alternative<Secret Options::*>(spec.field)) {
      program.file_options.push_back(name);
    } else if (kind != "FLAG") {
      program.free_options.push_back(name);
    }
    program.options.push_back(std::move(name));
  }
  return program;
}

Program ReplayProgram() {
  Program program{.name = "weir-replay", .takes_file = true};
  for (const ReplayHelp::Option& option : HelpOfReplay().options) {
    if (option.value == "FILE") {
      program.file_options.push_back(option.name);
    } else if (!option.value.empty()) {
      program.free_options.push_back(option.name);
    }
    program.options.push_back(option.name);
  }
  return program;
}

// Joins the words, and breaks the result into lines that fit a screen.
std::string Lines(const std::vector<std::string>& words, std::string_view separator) {
  constexpr std::size_t kColumnsMax = 90;
  std::string text;
  std::size_t columns = 0;  // of the last line
  for (const std::string& word : words) {
    if (!text.empty()) absl::StrAppend(&text, AbslView(separator));
    if (columns + word.size() + separator.size() > kColumnsMax) {
      absl::StrAppend(&text, "\\\n        ");
      columns = 0;
    }
    absl::StrAppend(&text, word);
    columns += word.size() + separator.size();
  }
  return text;
}

std::string FunctionOf(const Program& program) {
  const std::string function = absl::StrCat("_", absl::StrReplaceAll(program.name, {{"-", "_"}}));
  std::string text =
      absl::StrCat("\n", function, "() {\n  local cur prev\n  _weir_words\n", "  case $prev in\n");
  for (const std::string& line : program.cases) absl::StrAppend(&text, "    ", line, "\n");
  absl::StrAppend(&text, "    ", Lines(program.file_options, " | "), ") _weir_offer -f ;;\n");
  absl::StrAppend(&text, "    ", Lines(program.free_options, " | "), ") ;;\n");
  absl::StrAppend(&text, "    *)\n");
  if (program.takes_file) {
    absl::StrAppend(&text, "      [[ $cur == -* ]] || { _weir_offer -f; return; }\n");
  }
  absl::StrAppend(&text, "      _weir_offer \\\n        ", Lines(program.options, " "),
                  "\n      ;;\n  esac\n}\ncomplete -F ", function, " ", program.name, "\n");
  return text;
}

// weir-check takes the kind of a file, the file, and the flag of a kind that has one.
std::string CheckFunction() {
  std::vector<std::string> words = {"--help", "--version"};
  std::string flags;
  for (const FileCheck& check : FileChecks()) {
    words.emplace_back(check.kind);
    if (check.flag.empty()) continue;
    absl::StrAppend(&flags, "    3) [[ ${COMP_WORDS[1]} != ", AbslView(check.kind),
                    " ]] || _weir_offer ", AbslView(check.flag), " ;;\n");
  }
  return absl::StrCat("\n_weir_check() {\n  local cur prev\n  _weir_words\n  case $COMP_CWORD in\n",
                      "    1) _weir_offer ", absl::StrJoin(words, " "),
                      " ;;\n    2) _weir_offer -f ;;\n", flags,
                      "  esac\n}\ncomplete -F _weir_check weir-check\n");
}

}  // namespace

std::string BashCompletion() {
  return absl::StrCat(AbslView(kCompletionHelpers), FunctionOf(ServerProgram()), CheckFunction(),
                      FunctionOf(ReplayProgram()));
}

}  // namespace weir
