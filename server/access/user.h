// One user of the server: its passwords, the commands that it may run, and the keys that it may
// use.
//
//     absl::StatusOr<User> user = User::Create("app", {"on", ">secret", "~app:*", "+@limit"});
//
// The rules are those of Redis that apply to this server:
//
//     on | off                      may log in or not; a new user is off
//     >password | #sha256           adds a password: as it is, or its SHA-256 as 64 hex digits
//     nopass | resetpass            accepts any password; accepts none
//     ~prefix* | ~key | allkeys     adds the keys with a prefix, one key, all keys (~*)
//     resetkeys                     removes all keys
//     +command | -command           allows or forbids a command with all its subcommands
//     +command|subcommand           allows one subcommand
//     +@category | -@category       allows or forbids a category (command_category.h)
//     allcommands | nocommands      the same as +@all and -@all
//     reset                         removes all rules
//     &pattern | allchannels        adds the channels that match, or all channels (&*)
//     resetchannels                 removes all channels
//     sanitize-payload | skip-sanitize-payload
//                                   no effect; accepted because Redis writes them
//
// Later rules win over earlier ones. A user is immutable. Of a password only its SHA-256 is kept,
// and comparing it takes the same time for every password.
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

  // Fails with kInvalidArgument and a text that names the rule and the correct form. The text never
  // quotes a password.
  [[nodiscard]] static absl::StatusOr<User> Create(std::string_view name,
                                                   std::span<const std::string_view> rules);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool is_on() const noexcept { return is_on_; }
  [[nodiscard]] bool needs_no_password() const noexcept { return no_password_; }
  // The SHA-256 of a password as 64 hex digits.
  [[nodiscard]] static std::string HashOf(std::string_view password);
  // True if a password with this hash is right.
  [[nodiscard]] bool AcceptsHash(std::string_view hash) const;
  [[nodiscard]] bool Accepts(std::string_view password) const {
    return AcceptsHash(HashOf(password));
  }

  // True if no command, key or channel is forbidden. Cheaper than the questions one by one.
  [[nodiscard]] bool MayDoAll() const noexcept { return may_do_all_; }
  [[nodiscard]] bool MayRun(const CommandSpec& spec) const noexcept;
  [[nodiscard]] bool MayUseAllKeys() const noexcept { return all_keys_; }
  [[nodiscard]] bool MayUse(std::string_view key) const noexcept;
  [[nodiscard]] bool MayUseChannel(std::string_view channel) const noexcept;
  // Whether the user may subscribe to the pattern: as in Redis, one of the rules is that pattern.
  [[nodiscard]] bool MayUseChannels(std::string_view pattern) const noexcept;

  // The fields of ACL GETUSER.
  [[nodiscard]] const std::vector<std::string>& password_hashes() const noexcept {
    return password_hashes_;
  }
  [[nodiscard]] std::string KeyRules() const;                        // "~app:* ~one"
  [[nodiscard]] std::string ChannelRules() const;                    // "&app:* &one"
  [[nodiscard]] const std::string& command_rules() const noexcept {  // "-@all +@limit"
    return command_rules_;
  }
  // The line of a users file that makes the same user: "user app on #... ~app:* &app:* -@all
  // +@limit".
  [[nodiscard]] std::string Line() const;

 private:
  struct KeyRule {
    std::string text;
    bool is_prefix;
  };

  explicit User(std::string_view name);
  absl::Status Apply(std::string_view rule);
  absl::Status ApplyToKeys(std::string_view pattern);
  absl::Status ApplyToCommands(std::string_view rule);

  std::string name_;
  bool is_on_ = false;
  bool no_password_ = false;
  std::vector<std::string> password_hashes_;
  bool all_keys_ = false;
  std::vector<KeyRule> keys_;
  bool all_channels_ = false;
  std::vector<std::string> channels_;  // patterns
  std::bitset<256> forbidden_;         // by row of the command table
  std::string command_rules_ = "-@all";
  bool may_do_all_ = false;  // what the rules above come to
};

}  // namespace weir
