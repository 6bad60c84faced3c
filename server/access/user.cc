#include "server/access/user.h"

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include <sodium/crypto_hash_sha256.h>
#include <sodium/utils.h>

#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "server/access/glob.h"
#include "server/commands/command_category.h"
#include "server/commands/command_table.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, 2> kWithoutEffect = {"sanitize-payload",
                                                            "skip-sanitize-payload"};

constexpr std::size_t kHashDigits = 2 * crypto_hash_sha256_BYTES;

std::size_t RowOf(const CommandSpec& spec) {
  return static_cast<std::size_t>(&spec - CommandTable().data());
}

absl::Status BadRule(std::string_view rule, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(Quote(rule), ": ", what));
}

bool IsPrintable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '!' && c <= '~'; });
}

}  // namespace

User::User(std::string_view name) : name_(name) {
  WEIR_CHECK(CommandTable().size() <= forbidden_.size());
  for (const CommandSpec& spec : CommandTable()) forbidden_.set(RowOf(spec));
}

absl::StatusOr<User> User::Create(std::string_view name, std::span<const std::string_view> rules) {
  // The word may be a password in the wrong place, so it is not quoted.
  if (name.starts_with('>') || name.starts_with('#')) {
    return absl::InvalidArgumentError("a user's name does not begin with '>' or '#'");
  }
  if (name.empty() || name.size() > kNameBytesMax || !IsPrintable(name)) {
    return absl::InvalidArgumentError(absl::StrCat("user ", Quote(name), ": a name has 1 to ",
                                                   kNameBytesMax,
                                                   " printable characters and no space"));
  }
  User user(name);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (const absl::Status applied = user.Apply(rules[i]); !applied.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("user ", Quote(name), ": rule ", i + 1, ": ", applied.message()));
    }
  }
  user.may_do_all_ = user.all_keys_ && user.all_channels_ && user.forbidden_.none();
  return user;
}

absl::Status User::Apply(std::string_view rule) {
  // Makes no copy of a password.
  const std::string word =
      rule.starts_with('>') ? std::string() : absl::AsciiStrToLower(AbslView(rule));
  if (word == "on" || word == "off") {
    is_on_ = word == "on";
  } else if (word == "nopass" || word == "resetpass") {
    password_hashes_.clear();
    no_password_ = word == "nopass";
  } else if (word == "allkeys" || word == "resetkeys") {
    keys_.clear();
    all_keys_ = word == "allkeys";
  } else if (word == "allchannels" || word == "resetchannels" || word == "&*") {
    channels_.clear();
    all_channels_ = word != "resetchannels";
  } else if (word == "allcommands") {
    return ApplyToCommands("+@all");
  } else if (word == "nocommands") {
    return ApplyToCommands("-@all");
  } else if (word == "reset") {
    *this = User(name_);
  } else if (rule.starts_with('>')) {
    no_password_ = false;
    password_hashes_.push_back(HashOf(rule.substr(1)));
  } else if (rule.starts_with('#')) {
    const std::string_view digits = rule.substr(1);
    const bool is_hash = digits.size() == kHashDigits && std::ranges::all_of(digits, [](char c) {
                           return absl::ascii_isxdigit(static_cast<unsigned char>(c));
                         });
    if (!is_hash) {
      return absl::InvalidArgumentError(
          absl::StrCat("'#' needs the ", kHashDigits, " hex digits of a SHA-256"));
    }
    no_password_ = false;
    password_hashes_.push_back(absl::AsciiStrToLower(AbslView(digits)));
  } else if (std::ranges::count(kWithoutEffect, word) > 0) {
    return absl::OkStatus();
  } else if (rule.starts_with('&')) {
    if (!all_channels_) channels_.emplace_back(rule.substr(1));
  } else if (rule.starts_with('~')) {
    return ApplyToKeys(rule);
  } else if (rule.starts_with('+') || rule.starts_with('-')) {
    return ApplyToCommands(rule);
  } else {
    // The word may be a password without its '>', so it is not quoted.
    return absl::InvalidArgumentError(
        "unknown (on, off, >password, #sha256, nopass, resetpass, ~prefix*, allkeys, resetkeys, "
        "&pattern, allchannels, resetchannels, +command, -command, +@category, -@category, "
        "allcommands, nocommands, reset)");
  }
  return absl::OkStatus();
}

absl::Status User::ApplyToKeys(std::string_view rule) {
  std::string_view key = rule.substr(1);
  const bool is_prefix = key.ends_with('*');
  if (is_prefix) key.remove_suffix(1);
  if (key.find_first_of("*?[\\") != std::string_view::npos) {
    return BadRule(rule, "a key rule is one key, or a prefix with '*' at its end");
  }
  if (!is_prefix && key.empty()) return BadRule(rule, "the key is empty");
  if (is_prefix && key.empty()) {
    keys_.clear();
    all_keys_ = true;
  }
  if (!all_keys_) keys_.push_back({std::string(key), is_prefix});
  return absl::OkStatus();
}

absl::Status User::ApplyToCommands(std::string_view rule) {
  const bool allowed = rule.front() == '+';
  const std::string_view name = rule.substr(1);
  if (name.starts_with('@')) {
    const std::optional<CommandCategories> category = FindCategory(name.substr(1));
    if (!category) {
      std::string names = "@all";
      for (const std::string_view one : CategoryNames(kEveryCategory)) {
        absl::StrAppend(&names, ", @", AbslView(one));
      }
      return BadRule(rule, absl::StrCat("unknown category (", names, ")"));
    }
    for (const CommandSpec& spec : CommandTable()) {
      if ((CategoriesOf(spec) & *category) != 0) forbidden_.set(RowOf(spec), !allowed);
    }
    if (*category == kEveryCategory) command_rules_.clear();
  } else {
    const CommandSpec* spec = FindCommand(name);
    if (!spec) return BadRule(rule, "unknown command");
    forbidden_.set(RowOf(*spec), !allowed);
    for (const CommandSpec& sub : SubcommandsOf(*spec)) forbidden_.set(RowOf(sub), !allowed);
  }
  absl::StrAppend(&command_rules_, command_rules_.empty() ? "" : " ",
                  absl::AsciiStrToLower(AbslView(rule)));
  return absl::OkStatus();
}

std::string User::HashOf(std::string_view password) {
  std::string hash(crypto_hash_sha256_BYTES, '\0');
  crypto_hash_sha256(reinterpret_cast<unsigned char*>(hash.data()),
                     reinterpret_cast<const unsigned char*>(password.data()), password.size());
  return absl::BytesToHexString(hash);
}

// Compares all hashes, each to its end, so that the time reveals neither which password is right
// nor how much of it.
bool User::AcceptsHash(std::string_view hash) const {
  bool right = no_password_;
  for (const std::string& one : password_hashes_) {
    const bool equal =
        hash.size() == one.size() && sodium_memcmp(one.data(), hash.data(), one.size()) == 0;
    right = right || equal;
  }
  return right;
}

bool User::MayRun(const CommandSpec& spec) const noexcept { return !forbidden_.test(RowOf(spec)); }

bool User::MayUse(std::string_view key) const noexcept {
  return all_keys_ || std::ranges::any_of(keys_, [key](const KeyRule& rule) {
           return rule.is_prefix ? key.starts_with(rule.text) : key == rule.text;
         });
}

bool User::MayUseChannel(std::string_view channel) const noexcept {
  return all_channels_ || std::ranges::any_of(channels_, [channel](const std::string& pattern) {
           return MatchesChannel(pattern, channel);
         });
}

bool User::MayUseChannels(std::string_view pattern) const noexcept {
  return all_channels_ || std::ranges::count(channels_, pattern) > 0;
}

std::string User::ChannelRules() const {
  if (all_channels_) return "&*";
  return absl::StrJoin(channels_, " ", [](std::string* text, const std::string& pattern) {
    absl::StrAppend(text, "&", pattern);
  });
}

std::string User::KeyRules() const {
  if (all_keys_) return "~*";
  return absl::StrJoin(keys_, " ", [](std::string* text, const KeyRule& rule) {
    absl::StrAppend(text, "~", rule.text, rule.is_prefix ? "*" : "");
  });
}

std::string User::Line() const {
  std::string line = absl::StrCat("user ", name_, is_on_ ? " on" : " off");
  if (no_password_) absl::StrAppend(&line, " nopass");
  for (const std::string& hash : password_hashes_) absl::StrAppend(&line, " #", hash);
  const std::string keys = KeyRules();
  const std::string channels = ChannelRules();
  absl::StrAppend(&line, keys.empty() ? "" : " ", keys, channels.empty() ? "" : " ", channels, " ",
                  command_rules_);
  return line;
}

}  // namespace weir
