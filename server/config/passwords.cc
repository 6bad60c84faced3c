#include "server/config/passwords.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <system_error>

#include "absl/strings/str_cat.h"

#include "core/base/byte_order_mark.h"
#include "core/base/quote.h"
#include "core/base/status.h"

namespace weir {
namespace {

absl::Status CannotRead(std::string_view option, const std::string& path, int error) {
  return absl::InvalidArgumentError(absl::StrCat("option '", AbslView(option), "': cannot read ",
                                                 Quote(path), ": ",
                                                 std::generic_category().message(error)));
}

constexpr std::ptrdiff_t kNotRegular = PTRDIFF_MIN;

// Reads as much of a file as fits. Returns the number of bytes; negative: the errno, or kNotRegular
// for what may make a reader wait, as a pipe does. read() tells of a directory itself.
std::ptrdiff_t ReadInto(std::span<char> bytes, const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const int file = open(path.c_str(), kFlags);  // NOLINT(*-vararg)
  if (file < 0) return -errno;
  struct stat about {};
  if (fstat(file, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) {
    close(file);
    return kNotRegular;
  }
  std::size_t size = 0;
  ssize_t got = 0;
  do {
    got = read(file, bytes.data() + size, bytes.size() - size);
    if (got > 0) size += static_cast<std::size_t>(got);
  } while ((got > 0 && size < bytes.size()) || (got < 0 && errno == EINTR));
  const int error = errno;
  close(file);
  return got < 0 ? -error : static_cast<std::ptrdiff_t>(size);
}

std::string_view FirstLine(std::string_view text) {
  text = WithoutByteOrderMark(text);
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

// The value of an assignment NAME=VALUE of the environment; null for another name.
char* ValueIn(char* assignment, std::string_view name) {
  const bool is_it =
      std::string_view(assignment).starts_with(name) && assignment[name.size()] == '=';
  return is_it ? assignment + name.size() + 1 : nullptr;
}

absl::Status OnlyOne(std::string_view one, std::string_view other, std::string_view why = "") {
  return absl::InvalidArgumentError(
      absl::StrCat(AbslView(one), " and ", AbslView(other), ": give one of them", AbslView(why)));
}

// Fails if a password has two places, or stands beside users who have passwords of their own.
absl::Status CheckPlaces(const PasswordPlaces& places, bool has_variable, const Options& options) {
  const bool has_word = !(options.*places.word).empty();
  const bool has_file = !(options.*places.file).empty();
  if (has_word && has_file) return OnlyOne(places.option, places.file_option);
  if (has_word && has_variable) return OnlyOne(places.option, places.variable);
  if (has_file && has_variable) return OnlyOne(places.file_option, places.variable);
  const bool is_given = has_word || has_file || has_variable;
  if (is_given && places.word == &Options::requirepass && !options.users_file.empty()) {
    return OnlyOne(has_word   ? places.option
                   : has_file ? places.file_option
                              : places.variable,
                   "users-file", "; the file can set the default user's password");
  }
  return absl::OkStatus();
}

}  // namespace

PasswordVariables TakePasswordVariables() {
  PasswordVariables taken;
  for (std::size_t i = 0; i < kPasswords.size(); ++i) {
    const std::string name(kPasswords.at(i).variable);
    for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
      char* const value = ValueIn(*each, name);
      if (value == nullptr) continue;
      if (!taken.at(i)) taken.at(i) = Secret(std::string_view(value));
      Wipe(std::span(value, std::strlen(value)));
    }
    unsetenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): no other thread runs
  }
  return taken;
}

absl::Status ReadPasswords(const PasswordVariables& variables, Options& options) {
  for (std::size_t i = 0; i < kPasswords.size(); ++i) {
    const PasswordPlaces& places = kPasswords.at(i);
    const std::optional<Secret>& variable = variables.at(i);
    WEIR_RETURN_IF_ERROR(CheckPlaces(places, variable.has_value(), options));
    if (variable && variable->empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the variable ", AbslView(places.variable), " is empty"));
    }
    if (variable) options.*places.word = *variable;
    const std::string& path = options.*places.file;
    if (path.empty()) continue;
    const absl::StatusOr<Secret> read = ReadPasswordFile(places.file_option, path);
    if (!read.ok()) return read.status();
    options.*places.word = *read;
  }
  return absl::OkStatus();
}

absl::StatusOr<Secret> ReadPasswordFile(std::string_view option, const std::string& path) {
  // A line of the greatest length, with a mark before it and its end behind it.
  std::array<char, kPasswordBytesMax + 6> bytes;
  const std::ptrdiff_t size = ReadInto(bytes, path);
  if (size == kNotRegular) {
    return absl::InvalidArgumentError(
        absl::StrCat("option '", AbslView(option), "': ", Quote(path), " is no regular file"));
  }
  if (size < 0) return CannotRead(option, path, static_cast<int>(-size));
  const std::string_view line =
      FirstLine(std::string_view(bytes.data(), static_cast<std::size_t>(size)));
  Secret password;
  if (line.size() <= kPasswordBytesMax) password = Secret(line);
  const bool is_long = line.size() > kPasswordBytesMax;
  Wipe(bytes);
  if (is_long) {
    return absl::InvalidArgumentError(
        absl::StrCat("option '", AbslView(option), "': the first line of ", Quote(path),
                     " is longer than ", kPasswordBytesMax, " bytes"));
  }
  if (password.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "option '", AbslView(option), "': the first line of ", Quote(path), " is empty"));
  }
  return password;
}

}  // namespace weir
