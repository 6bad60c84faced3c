// One user of the server: whether and how they log in, which commands they may run, and on which
// keys.
//
//     absl::StatusOr<User> user = User::Create("app", {"on", ">secret", "~app:*", "+@limit"});
//
// The rules are Redis's, as far as there is something for them to rule:
//
//     on | off                      may log in, or not; a new user may not
//     >password | #sha256           adds a password, said or as the 64 hex digits of its SHA-256
//     nopass | resetpass            any password is right; none is
//     ~prefix* | ~key | allkeys     adds keys: all that begin so, one, all (~*)
//     resetkeys                     no keys
//     +command | -command           may run it, or not; with all its subcommands
//     +command|subcommand           one of them
//     +@category | -@category       all of a category (command_category.h)
//     allcommands | nocommands      the same as +@all and -@all
//     reset                         as new
//     allchannels | resetchannels | &pattern | sanitize-payload | skip-sanitize-payload
//                                   nothing: lines that Redis writes have them
//
// Later rules win over earlier ones. Immutable once made. A password is kept as its SHA-256 only,
// and compared in a time that does not depend on it.
#pragma once

#include <bitset>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir {

struct CommandSpec;

class User {
 public:
  static constexpr std::size_t kNameBytesMax = 256;

  // Fails with kInvalidArgument and a text that names the rule and what would be right; it never
  // quotes a password.
  [[nodiscard]] static absl::StatusOr<User> Create(std::string_view name,
                                                   std::span<const std::string_view> rules);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool is_on() const noexcept { return is_on_; }
  [[nodiscard]] bool needs_no_password() const noexcept { return no_password_; }
  // The SHA-256 of a password as 64 hex digits, and whether a password of that hash is right.
  [[nodiscard]] static std::string HashOf(std::string_view password);
  [[nodiscard]] bool AcceptsHash(std::string_view hash) const;
  [[nodiscard]] bool Accepts(std::string_view password) const {
    return AcceptsHash(HashOf(password));
  }

  [[nodiscard]] bool MayRun(const CommandSpec& spec) const noexcept;
  [[nodiscard]] bool MayUseAllKeys() const noexcept { return all_keys_; }
  [[nodiscard]] bool MayUse(std::string_view key) const noexcept;

  // The fields of ACL GETUSER.
  [[nodiscard]] const std::vector<std::string>& password_hashes() const noexcept {
    return password_hashes_;
  }
  [[nodiscard]] std::string KeyRules() const;                        // "~app:* ~one"
  [[nodiscard]] const std::string& command_rules() const noexcept {  // "-@all +@limit"
    return command_rules_;
  }
  // "user app on #... ~app:* -@all +@limit": what makes the same user.
  [[nodiscard]] std::string Line() const;

 private:
  struct KeyRule {
    std::string text;
    bool is_prefix;
  };

  explicit User(std::string_view name) : name_(name) {}
  absl::Status Apply(std::string_view rule);
  absl::Status ApplyToKeys(std::string_view pattern);
  absl::Status ApplyToCommands(std::string_view rule);

  std::string name_;
  bool is_on_ = false;
  bool no_password_ = false;
  std::vector<std::string> password_hashes_;
  bool all_keys_ = false;
  std::vector<KeyRule> keys_;
  std::bitset<256> commands_;  // by their rows
  std::string command_rules_ = "-@all";
};

}  // namespace weir
