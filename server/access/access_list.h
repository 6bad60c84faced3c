// All users: of the option requirepass, or of the file that users-file names.
//
//     user app on >secret ~app:* +@limit          a line a user, its rules as user.h says them
//     # a comment; empty lines are skipped
//
// Without either there is one user, `default`, who needs no password and may do everything. With
// requirepass, `default` needs that password. With a file, `default` is as the file says, and off
// if it does not name it. A connection begins as `default` if that user needs no password, else
// without a user.
//
// Thread-safe. A user is immutable: a session keeps its copy until it looks again (version).
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
  // kInvalidArgument and one line that never quotes a password; `path` is the file's name in it.
  [[nodiscard]] static absl::StatusOr<Users> ParseUsers(std::string_view text,
                                                        const std::string& path);

  AccessList();

  // Sets the default user's password, or reads the file. Empty ones are not there.
  // Fails with one line, with nothing changed.
  absl::Status Configure(std::string_view password, const std::string& users_file);

  // Reads the file again: all of it, or nothing is changed. Fails with kFailedPrecondition where
  // there is none.
  absl::Status Load();

  // Null if there is none.
  [[nodiscard]] std::shared_ptr<const User> Find(std::string_view name) const;
  // By their names.
  [[nodiscard]] std::vector<std::shared_ptr<const User>> All() const;
  // The user as an introducer of limits; kSoleIntroducer where there is no other user.
  [[nodiscard]] Introducer IntroducerOf(const User* user) const;
  // The user that a connection begins as; null: it has to log in.
  [[nodiscard]] std::shared_ptr<const User> ForNewConnection() const;
  // Moves whenever users may have changed.
  [[nodiscard]] std::uint64_t version() const noexcept {
    return version_.load(std::memory_order_acquire);
  }

 private:
  static absl::StatusOr<Users> ReadFile(const std::string& path);
  void Replace(Users users);

  std::string users_file_;  // set before any other thread looks
  mutable Mutex mutex_;
  Users users_ ABSL_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> version_{1};
};

}  // namespace weir
