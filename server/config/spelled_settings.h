// The text of an options file in a spelling that every version of CLI11 reads alike.
//
// CLI11 2.1 takes a backslash in double quotes for itself, 2.4 for the beginning of an escape, and
// ends the program at one that it does not know. 2.4 also drops backquotes around a value, keeps
// what stands in brackets together, and reads on to another line after three quotes. So CLI11 gets
// a mark and a letter in the place of each such byte, and the names and values that it has found
// are read by Unspelled.
//
// Pure; thread-safe. Cost: linear. Tested by options_test.cc and options_file_fuzz.cc.
#pragma once

#include <string>
#include <string_view>

namespace weir {

// Returns the lines of `text`, without comments, since CLI11 would also end a value at a '#' in
// quotes. A quoted value begins a line, or follows one of "=[,". In double quotes, and outside of
// quotes, \" is a quote; every other backslash is itself. A '[' that begins a line or follows '='
// begins a section or a list.
[[nodiscard]] std::string SpelledSettings(std::string_view text);

// Returns what a part of such a text says. Leaves no copy of it behind but the one returned, since
// it may be a password.
[[nodiscard]] std::string Unspelled(std::string_view spelled);

}  // namespace weir
