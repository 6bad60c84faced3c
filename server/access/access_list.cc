#include "server/access/access_list.h"

#include <cerrno>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/byte_order_mark.h"
#include "core/base/check.h"
#include "core/base/status.h"
#include "server/os/wipe.h"

namespace weir {
namespace {

std::shared_ptr<const User> DefaultUser(std::vector<std::string_view> rules) {
  absl::StatusOr<User> user = User::Create(kDefaultUser, rules);
  WEIR_CHECK(user.ok());
  return std::make_shared<const User>(*std::move(user));
}

// The words of "user NAME RULE ..."; none for an empty line or a comment.
std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  for (const absl::string_view word :
       absl::StrSplit(AbslView(line), absl::ByAnyChar(" \t\r"), absl::SkipEmpty())) {
    words.push_back(StdView(word));
  }
  if (!words.empty() && words.front().starts_with('#')) words.clear();
  return words;
}

}  // namespace

AccessList::AccessList() {
  users_.emplace(kDefaultUser, DefaultUser({"on", "nopass", "~*", "&*", "+@all"}));
}

absl::Status AccessList::Configure(std::string_view password, const std::string& users_file) {
  if (!password.empty() && !users_file.empty()) {
    return absl::InvalidArgumentError(
        "requirepass and users-file: give one of them; the file can set the default user's "
        "password");
  }
  if (password.empty() && users_file.empty()) return absl::OkStatus();
  if (!users_file.empty()) {
    users_file_ = users_file;
    return Load();
  }
  std::string rule = absl::StrCat(">", AbslView(password));
  Users users;
  users.emplace(kDefaultUser, DefaultUser({"on", rule, "~*", "&*", "+@all"}));
  Wipe(rule);
  Replace(std::move(users));
  return absl::OkStatus();
}

absl::Status AccessList::Load() {
  if (users_file_.empty()) {
    return absl::FailedPreconditionError(
        "there is no users file: start the server with --users-file");
  }
  absl::StatusOr<Users> users = ReadFile(users_file_);
  if (!users.ok()) return users.status();
  Replace(*std::move(users));
  return absl::OkStatus();
}

absl::StatusOr<AccessList::Users> AccessList::ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kFileBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (!file.is_open())) {
    return absl::NotFoundError(absl::StrCat("cannot read the users file ", path, ": ",
                                            std::generic_category().message(errno)));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kFileBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": larger than ", kFileBytesMax, " bytes"));
  }
  absl::StatusOr<Users> users = ParseUsers(text, path);
  Wipe(text);
  return users;
}

absl::StatusOr<AccessList::Users> AccessList::ParseUsers(std::string_view text,
                                                         const std::string& path) {
  Users users;
  std::size_t number = 0;
  for (const absl::string_view line : absl::StrSplit(AbslView(WithoutByteOrderMark(text)), '\n')) {
    ++number;
    const std::vector<std::string_view> words = WordsOf(StdView(line));
    if (words.empty()) continue;
    const auto failure = [&](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": ", what));
    };
    if (words.size() < 2 || words[0] != "user") return failure("expected: user NAME RULE ...");
    absl::StatusOr<User> user = User::Create(words[1], std::span(words).subspan(2));
    if (!user.ok()) return failure(user.status().message());
    const std::string name = user->name();
    if (!users.emplace(name, std::make_shared<const User>(*std::move(user))).second) {
      return failure(absl::StrCat("user '", name, "' is defined twice"));
    }
  }
  if (users.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": it has no user"));
  }
  users.emplace(kDefaultUser, DefaultUser({}));  // unless the file names it
  return users;
}

void AccessList::Replace(Users users) {
  MutexLock lock(mutex_);
  users_ = std::move(users);
  version_.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<const User> AccessList::Find(std::string_view name) const {
  MutexLock lock(mutex_);
  const auto user = users_.find(std::string(name));
  return user == users_.end() ? nullptr : user->second;
}

std::shared_ptr<const User> AccessList::FindActive(std::string_view name) const {
  std::shared_ptr<const User> user = Find(name);
  return user && user->is_on() ? std::move(user) : nullptr;
}

std::vector<std::shared_ptr<const User>> AccessList::All() const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<const User>> all;
  for (const auto& [name, user] : users_) all.push_back(user);
  return all;
}

Introducer AccessList::IntroducerOf(const User* user) const {
  if (!user) return kSoleIntroducer;
  MutexLock lock(mutex_);
  return users_.size() < 2 ? kSoleIntroducer : IntroducerNamed(user->name());
}

std::shared_ptr<const User> AccessList::ForNewConnection() const {
  std::shared_ptr<const User> user = Find(kDefaultUser);
  return user->is_on() && user->needs_no_password() ? user : nullptr;
}

}  // namespace weir
