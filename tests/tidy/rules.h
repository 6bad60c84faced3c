// The rules of the tree that no compiler checks: which folder may include which, which calls are
// banned and their replacements, how long lines and files may be, and that no file is unused.
//
// Each rule is a function from files to findings. It sees a file as text, so it is a heuristic: it
// knows comments and literals (SourceFile::code), but no types and no macros.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tests/tidy/source_file.h"

namespace weir::tidy {

inline constexpr std::size_t kColumnsMax = 100;
inline constexpr std::size_t kFileLinesMax = 500;
inline constexpr std::size_t kFunctionLinesMax = 70;
inline constexpr std::size_t kReadmeLinesMin = 120;
inline constexpr std::size_t kReadmeLinesMax = 160;
inline constexpr std::size_t kRoomFilesMax = 30;  // C++ files
inline constexpr std::size_t kTestFolderFilesMax = 45;
inline constexpr std::size_t kPublicFunctionsMax = 25;
inline constexpr std::size_t kAssertionsMin = 8;  // in 1,000 lines of a room

// The arrows between folders and between the rooms of a folder, and the folder that alone may know
// Asio, RocksDB or the module API.
[[nodiscard]] Findings IncludeArrows(const SourceFile& file);

// Calls and words that have no place in (a part of) the tree, each with its replacement.
[[nodiscard]] Findings BannedWords(const SourceFile& file);

// Words and phrases that make a reader stop, in comments, string literals and pages, each with its
// replacement.
[[nodiscard]] Findings BannedPhrases(const SourceFile& file);

// A formula or a rule of a grammar in a comment of C++ stands on one line: no line of prose ends
// with an operator, and none begins with '='. clang-format breaks a line that is too long anywhere;
// below prose, indented by four blanks more, each formula has a line of its own.
[[nodiscard]] Findings BrokenFormulas(const SourceFile& file);

// The first sentence of a file begins with a noun or a verb, not with What, Who, How or Of.
[[nodiscard]] Findings Opening(const SourceFile& file);

// Notes to self that should be an issue or done: TO DO, FIX ME, written as one word.
[[nodiscard]] Findings Leftovers(const SourceFile& file);

// Rooms of core/, module/ and server/, and folders of tests/, have few files.
[[nodiscard]] Findings SmallRooms(const std::vector<SourceFile>& tree);

// The rooms of the server whose threads share state assert kAssertionsMin times in 1,000 lines:
// with WEIR_CHECK, WEIR_DCHECK and ThreadRole::AssertHeld. What the compiler checks does not count.
[[nodiscard]] Findings FewAssertions(const std::vector<SourceFile>& tree);

// Behind its opening comment a header says `#pragma once`.
[[nodiscard]] Findings PragmaOnce(const SourceFile& file);

// Columns, tabs, blanks at the end of a line, lines of a file. In Markdown only prose is bounded:
// tables, code, titles, and links longer than a line stay as they are.
[[nodiscard]] Findings Layout(const SourceFile& file);

// Functions that do not fit on a screen. A function is an outermost block whose head has a
// parenthesis; its length is counted from the first line of the head to the closing brace.
[[nodiscard]] Findings LongFunctions(const SourceFile& file);

// A class or struct of the product has at most kPublicFunctionsMax public functions. Constructors
// count, and each overload, since a reader must tell them apart; what is deleted, defaulted, a
// friend or inherited does not. The line before a larger class says how many it has, and why:
// `// public-functions: 28, a map with its log.`
[[nodiscard]] Findings ManyPublicFunctions(const SourceFile& file);

// A Markdown file has one title, a line that starts with a single '#'.
[[nodiscard]] Findings OneTitle(const SourceFile& file);

// README.md says what weir is on two screens: kReadmeLinesMin to kReadmeLinesMax lines.
[[nodiscard]] Findings ReadmeLength(const SourceFile& file);

// docs/README.md has a link to every other page of docs/, and only one.
[[nodiscard]] Findings PagesOutsideTheIndex(const std::vector<SourceFile>& tree);

// Relative links of Markdown files lead to something that `exists` says is there, by its path from
// the top of the tree; and their anchors to a title, if it is a Markdown file. Links in blocks of
// code and between backticks are not looked at.
[[nodiscard]] Findings BrokenLinks(const std::vector<SourceFile>& tree,
                                   const std::function<bool(const std::string&)>& exists);

// In docs/promises.md a list item that begins with a test's file, between backticks, names words of
// that file between backticks: the tests.
[[nodiscard]] Findings UntestedPromises(const std::vector<SourceFile>& tree);

// A source that has a header of its own includes it before all others: then it proves that the
// header includes what it needs, and nothing else has to (cmake/weir.cmake). Names begin at the top
// of the tree; those of clients/cpp, which is used without the tree, begin there.
[[nodiscard]] Findings OwnHeaderFirst(const std::vector<SourceFile>& tree);

// Each C++ and test file is named in the nearest CMakeLists.txt above it: else nothing compiles it
// (a header, alone) or runs it. It may be named with its folder or, as a test, without extension. A
// header in tests/ or bench/ may be included instead.
[[nodiscard]] Findings DeadFiles(const std::vector<SourceFile>& tree);

}  // namespace weir::tidy
