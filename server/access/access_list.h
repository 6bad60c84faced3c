// All users: those of the file that the option users-file names, or the one of requirepass.
//
//     user app on >secret ~app:* +@limit          one user a line, with the rules of user.h
//     # a comment; empty lines are skipped
//
// Without both options there is one user, `default`, which needs no password and may do everything.
// With requirepass, `default` needs that password. With a file, `default` has the rules of the
// file, and is off if the file does not name it. A connection begins as `default` if that user is
// on and needs no password, otherwise without a user.
//
// Thread-safe. A user is immutable: a session keeps its copy until version() moves.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/mutex.h"
#include "core/table/limit_registry.h"
#include "server/access/user.h"

namespace weir {

inline constexpr std::string_view kDefaultUser = "default";

class AccessList {
 public:
  static constexpr std::size_t kFileBytesMax = 1024 * 1024;
  using Users = absl::btree_map<std::string, std::shared_ptr<const User>>;  // by their names

  // Reads the text of a users file; the default user is always among the users. Fails with
  // kInvalidArgument and one line that begins with the place and never quotes a password:
  // "users:3: user 'app': rule 2: ...", with `path` for the file.
  [[nodiscard]] static absl::StatusOr<Users> ParseUsers(std::string_view text,
                                                        const std::string& path);

  AccessList();

  // Sets the default user's password, or reads the file; an empty argument is an option that is not
  // set. Fails with one line and changes nothing.
  absl::Status Configure(std::string_view password, const std::string& users_file);

  // Reads the file again. A failure changes nothing; it is kFailedPrecondition if users-file is not
  // set.
  absl::Status Load();
  // False if Load() fails without reading a file.
  [[nodiscard]] bool has_users_file() const noexcept { return !users_file_.empty(); }

  // Null if there is no such user.
  [[nodiscard]] std::shared_ptr<const User> Find(std::string_view name) const;
  // A user that is on; null if there is none of this name, or it is off.
  [[nodiscard]] std::shared_ptr<const User> FindActive(std::string_view name) const;
  // Sorted by name.
  [[nodiscard]] std::vector<std::shared_ptr<const User>> All() const;
  // The user as an introducer of limits; kSoleIntroducer if there is no other user.
  [[nodiscard]] Introducer IntroducerOf(const User* user) const;
  // The user that a connection begins as; null if it must log in.
  [[nodiscard]] std::shared_ptr<const User> ForNewConnection() const;
  // Grows whenever users may have changed.
  [[nodiscard]] std::uint64_t version() const noexcept {
    return version_.load(std::memory_order_acquire);
  }

 private:
  static absl::StatusOr<Users> ReadFile(const std::string& path);
  void Replace(Users users);

  std::string users_file_;  // set before another thread reads it
  mutable Mutex mutex_;
  Users users_ ABSL_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> version_{1};
};

}  // namespace weir
