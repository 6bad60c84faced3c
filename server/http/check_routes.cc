#include "server/http/check_routes.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/base/toml_document.h"
#include "core/words/limit_grammar.h"
#include "core/words/request.h"

namespace weir {
namespace {

constexpr auto kMissingWords = std::to_array<std::pair<std::string_view, OnMissing>>(
    {{"deny", OnMissing::kDeny}, {"allow", OnMissing::kAllow}, {"skip", OnMissing::kSkip}});
constexpr auto kShowWords =
    std::to_array<std::pair<std::string_view, ShownLimits>>({{"named", ShownLimits::kNamed},
                                                             {"all", ShownLimits::kAll},
                                                             {"decisive", ShownLimits::kDecisive},
                                                             {"none", ShownLimits::kNone}});
constexpr auto kOriginalWords = std::to_array<std::pair<std::string_view, OriginalRequest>>(
    {{"x-forwarded", OriginalRequest::kXForwarded},
     {"x-original", OriginalRequest::kXOriginal},
     {"path", OriginalRequest::kPath}});
constexpr auto kBodyWords =
    std::to_array<std::pair<std::string_view, bool>>({{"problem", true}, {"none", false}});

// True for two words that would charge one bucket of a key twice.
bool IsOfOneBucket(const LimitWord& word, const LimitWord& other) {
  if (word.kind != other.kind) return false;
  if (word.kind == LimitWord::Kind::kPolicy) {
    return word.policy == other.policy && word.shadow == other.shadow;
  }
  return word.limit->has_bucket() && word.limit->SharesBucketsWith(*other.limit);
}

// Returns true if the request takes, or keeps, more than the limit ever has. The limit "none"
// denies on purpose, so it does not count.
bool NeverAdmits(const LimitWord& word, std::int64_t cost) {
  if (word.kind != LimitWord::Kind::kLimit || word.shadow) return false;
  const std::int64_t most = word.limit->capacity_tokens();
  return cost > most || word.keep.value_or(0) > most - cost;
}

// Returns the cost of a group for a limit that names none; for a template, the least cost that it
// may yield.
std::int64_t LeastCostOf(const CheckGroup& group) {
  if (!group.cost) return 1;
  return group.cost->is_constant() ? *ParseDigits(group.cost->text()) : 0;
}

// Reads one route. Each function reads one key or table; the first error ends the reading.
class RouteReader {
 public:
  RouteReader(const TomlDocument& document, std::string_view name, IsUser is_user)
      : document_(document), name_(name), is_user_(is_user) {}

  absl::StatusOr<CheckRoute> Read(const toml::table& table) {
    CheckRoute route;
    route.groups.emplace_back();
    for (const auto& [key, node] : table) {
      if (key == "user") {
        WEIR_RETURN_IF_ERROR(ReadUser(node, route.user));
      } else if (key == "once") {
        WEIR_RETURN_IF_ERROR(ReadOnce(node, route.once));
      } else if (key == "and") {
        WEIR_RETURN_IF_ERROR(ReadMoreGroups(node, route.groups));
      } else if (key == "answer") {
        WEIR_RETURN_IF_ERROR(ReadAnswer(node, route));
      } else if (!IsGroupKey(key.str())) {
        return Wrong(key.source(), absl::StrCat("unknown key ", Quote(key.str()),
                                                ": a route has key, limits, cost, user, once, "
                                                "and, answer"));
      }
    }
    WEIR_RETURN_IF_ERROR(ReadGroup(table, route.groups.front()));
    std::size_t limits = 0;
    for (const CheckGroup& group : route.groups) limits += group.limits.size();
    if (limits > kChecksMax) {
      return Wrong(table.source(),
                   absl::StrCat("its groups have more than ", kChecksMax, " limits together"));
    }
    return route;
  }

 private:
  static bool IsGroupKey(std::string_view key) {
    return key == "key" || key == "limits" || key == "cost";
  }

  absl::Status Wrong(const toml::source_region& where, std::string_view what) const {
    return document_.Wrong(where, absl::StrCat("route ", Quote(name_), ": ", AbslView(what)));
  }

  absl::Status ReadText(const toml::node& node, std::string_view key, std::string& text) const {
    const toml::value<std::string>* value = node.as_string();
    if (!value) {
      return Wrong(node.source(), absl::StrCat(AbslView(key), " must be a text in quotes"));
    }
    if (document_.HasForeignBytes(node.source())) {
      return Wrong(node.source(),
                   absl::StrCat(AbslView(key), ": write letters outside of ASCII as \\u00e9"));
    }
    text = value->get();
    return absl::OkStatus();
  }

  absl::Status ReadTemplate(const toml::node& node, std::string_view key,
                            CheckTemplate& parsed) const {
    std::string text;
    WEIR_RETURN_IF_ERROR(ReadText(node, key, text));
    absl::StatusOr<CheckTemplate> read = CheckTemplate::Parse(text);
    if (!read.ok()) return Wrong(node.source(), StdView(read.status().message()));
    if (text.empty()) return Wrong(node.source(), absl::StrCat(AbslView(key), " is empty"));
    parsed = *std::move(read);
    return absl::OkStatus();
  }

  absl::Status ReadGroup(const toml::table& table, CheckGroup& group) const {
    const toml::node* const key = table.get("key");
    const toml::node* const limits = table.get("limits");
    if (!key) return Wrong(table.source(), "it must have a key, such as key = \"ip:{ip}\"");
    if (!limits) return Wrong(table.source(), "it must have limits, such as limits = [\"10/s\"]");
    WEIR_RETURN_IF_ERROR(ReadTemplate(*key, "key", group.key));
    WEIR_RETURN_IF_ERROR(ReadLimits(*limits, group.limits));
    const toml::node* const cost = table.get("cost");
    if (cost) WEIR_RETURN_IF_ERROR(ReadCost(*cost, group.cost));
    return CheckGroupOf(*limits, group);
  }

  absl::Status ReadLimits(const toml::node& node, std::vector<CheckTemplate>& limits) const {
    const toml::array* const list = node.as_array();
    if (!list) return Wrong(node.source(), "limits must be a list, such as limits = [\"10/s\"]");
    if (list->empty() || list->size() > kChecksMax) {
      return Wrong(node.source(), absl::StrCat("it must have 1 to ", kChecksMax, " limits"));
    }
    for (const toml::node& item : *list) {
      WEIR_RETURN_IF_ERROR(ReadTemplate(item, "a limit", limits.emplace_back()));
      const CheckTemplate& limit = limits.back();
      if (!limit.is_constant()) continue;
      const absl::StatusOr<LimitWord> word = ParseLimitWord(limit.text());
      if (!word.ok()) return Wrong(item.source(), StdView(word.status().message()));
      const absl::Status label = CheckLabel(word->label, limit.text());
      if (!label.ok()) return Wrong(item.source(), StdView(label.message()));
      if (word->limit && word->limit->is_held()) {
        return Wrong(item.source(), absl::StrCat(Quote(limit.text()),
                                                 " needs RL.RESERVE: a check "
                                                 "holds nothing"));
      }
    }
    return absl::OkStatus();
  }

  // Refuses limits that no request can pass, and one bucket named twice. The values of templates
  // and policies are not known yet. Requires: limits that were read.
  absl::Status CheckGroupOf(const toml::node& limits, const CheckGroup& group) const {
    std::vector<LimitWord> seen;
    for (std::size_t i = 0; i < group.limits.size(); ++i) {
      const std::string& text = group.limits[i].text();
      const toml::source_region& where = limits.as_array()->get(i)->source();
      const auto names = [&](const CheckTemplate& other) { return other.text() == text; };
      bool is_twice = std::ranges::any_of(std::span(group.limits).first(i), names);
      if (group.limits[i].is_constant()) {
        LimitWord word = *ParseLimitWord(text);
        is_twice = is_twice || std::ranges::any_of(seen, [&](const LimitWord& other) {
                     return IsOfOneBucket(word, other);
                   });
        const std::int64_t cost = word.cost.value_or(LeastCostOf(group));
        if (NeverAdmits(word, cost)) {
          return Wrong(where,
                       absl::StrCat("no request can pass ", Quote(text), " at a cost of ", cost));
        }
        seen.push_back(std::move(word));
      }
      if (is_twice) return Wrong(where, absl::StrCat(Quote(text), " is there twice"));
    }
    return absl::OkStatus();
  }

  // A text, or a number as TOML has it.
  absl::Status ReadCost(const toml::node& node, std::optional<CheckTemplate>& cost) const {
    cost.emplace();
    if (const toml::value<std::int64_t>* number = node.as_integer()) {
      *cost = *CheckTemplate::Parse(std::to_string(number->get()));
    } else {
      WEIR_RETURN_IF_ERROR(ReadTemplate(node, "cost", *cost));
    }
    if (!cost->is_constant() || ParseDigits(cost->text())) return absl::OkStatus();
    return Wrong(node.source(), "cost must be a number from 0, or a template");
  }

  absl::Status ReadUser(const toml::node& node, std::string& user) const {
    WEIR_RETURN_IF_ERROR(ReadText(node, "user", user));
    if (is_user_(user)) return absl::OkStatus();
    return Wrong(node.source(),
                 absl::StrCat("user ", Quote(user), " is unknown or off: see the users file"));
  }

  absl::Status ReadOnce(const toml::node& node, std::optional<CheckTemplate>& once) const {
    WEIR_RETURN_IF_ERROR(ReadTemplate(node, "once", once.emplace()));
    if (!once->is_constant()) return absl::OkStatus();
    return Wrong(node.source(),
                 "once must have a variable, as in once = \"{header:x-request-id}\"");
  }

  absl::Status ReadMoreGroups(const toml::node& node, std::vector<CheckGroup>& groups) const {
    const toml::array* const list = node.as_array();
    for (std::size_t i = 0; list && i < list->size(); ++i) {
      const toml::table* const table = list->get(i)->as_table();
      if (!table) break;
      if (groups.size() == kCheckGroupsMax) {
        return Wrong(table->source(), absl::StrCat("it has at most ", kCheckGroupsMax, " groups"));
      }
      for (const auto& [key, value] : *table) {
        if (IsGroupKey(key.str())) continue;
        return Wrong(key.source(), absl::StrCat("unknown key ", Quote(key.str()),
                                                ": a group has key, limits, cost"));
      }
      WEIR_RETURN_IF_ERROR(ReadGroup(*table, groups.emplace_back()));
    }
    if (list && groups.size() == 1 + list->size()) return absl::OkStatus();
    return Wrong(node.source(), absl::StrCat("more groups are written as [[", name_, ".and]]"));
  }

  absl::Status ReadAnswer(const toml::node& node, CheckRoute& route) const {
    const toml::table* const table = node.as_table();
    if (!table) {
      return Wrong(node.source(), absl::StrCat("its answer is written as [", name_, ".answer]"));
    }
    CheckAnswer& answer = route.answer;
    for (const auto& [key, value] : *table) {
      absl::Status read;
      if (key == "denied") {
        read = ReadDenied(value, answer.denied);
      } else if (key == "missing") {
        read = ReadWord(value, "missing", kMissingWords, answer.missing);
      } else if (key == "fields") {
        read = ReadFields(value, answer.fields);
      } else if (key == "show") {
        read = ReadWord(value, "show", kShowWords, answer.fields.show);
      } else if (key == "body") {
        read = ReadWord(value, "body", kBodyWords, answer.has_problem);
      } else if (key == "ip_hops") {
        read = ReadNumber(value, "ip_hops", kIpHopsMax, route.proxy.ip_hops);
      } else if (key == "ipv6") {
        read = ReadNumber(value, "ipv6", kIpv6BitsMax, route.proxy.ipv6_bits);
      } else if (key == "original") {
        read = ReadWord(value, "original", kOriginalWords, route.proxy.original);
      } else {
        read = Wrong(key.source(),
                     absl::StrCat("unknown key ", Quote(key.str()),
                                  ": an answer has denied, missing, fields, show, body, ip_hops, "
                                  "ipv6, original"));
      }
      WEIR_RETURN_IF_ERROR(read);
    }
    return absl::OkStatus();
  }

  absl::Status ReadDenied(const toml::node& node, int& denied) const {
    const toml::value<std::int64_t>* number = node.as_integer();
    if (!number || !IsDeniedStatus(number->get())) {
      return Wrong(node.source(), "denied must be a status from 400 to 499, or 503");
    }
    denied = static_cast<int>(number->get());
    return absl::OkStatus();
  }

  absl::Status ReadNumber(const toml::node& node, std::string_view key, int most,
                          int& value) const {
    const toml::value<std::int64_t>* number = node.as_integer();
    if (!number || number->get() < 1 || number->get() > most) {
      return Wrong(node.source(), absl::StrCat(AbslView(key), " must be from 1 to ", most));
    }
    value = static_cast<int>(number->get());
    return absl::OkStatus();
  }

  template <typename Value, std::size_t kCount>
  absl::Status ReadWord(const toml::node& node, std::string_view key,
                        const std::array<std::pair<std::string_view, Value>, kCount>& words,
                        Value& value) const {
    const toml::value<std::string>* text = node.as_string();
    std::string expected;
    for (const auto& [word, meaning] : words) {
      if (text && text->get() == word) {
        value = meaning;
        return absl::OkStatus();
      }
      absl::StrAppend(&expected, expected.empty() ? "" : ", ", AbslView(word));
    }
    return Wrong(node.source(), absl::StrCat(AbslView(key), " must be one of ", expected));
  }

  absl::Status ReadFields(const toml::node& node, FieldChoice& choice) const {
    const std::pair<std::string_view, bool*> names[] = {{"ratelimit", &choice.rate_limit},
                                                        {"retry-after", &choice.retry_after},
                                                        {"x-ratelimit", &choice.x_rate_limit},
                                                        {"pk", &choice.partition_key}};
    for (const auto& [name, is_chosen] : names) *is_chosen = false;
    const toml::array* const list = node.as_array();
    std::size_t read = 0;
    for (std::size_t i = 0; list && i < list->size(); ++i) {
      const toml::value<std::string>* text = list->get(i)->as_string();
      for (const auto& [name, is_chosen] : names) {
        if (!text || text->get() != name) continue;
        if (std::exchange(*is_chosen, true)) {
          return Wrong(list->get(i)->source(), absl::StrCat(Quote(name), " is there twice"));
        }
        ++read;
      }
    }
    if (list && read == list->size()) return absl::OkStatus();
    return Wrong(node.source(), "fields must be a list of ratelimit, retry-after, x-ratelimit, pk");
  }

  const TomlDocument& document_;
  const std::string name_;
  const IsUser is_user_;
};

absl::StatusOr<CheckRoutes> RoutesOf(const TomlDocument& document, IsUser is_user) {
  CheckRoutes routes;
  for (const auto& [name, node] : document.root()) {
    const toml::table* const table = node.as_table();
    if (!table) {
      return document.Wrong(name.source(), absl::StrCat("unexpected ", Quote(name.str()),
                                                        ": a file of checks has one table a "
                                                        "route, as in [api]"));
    }
    if (!IsLabel(name.str())) {
      return document.Wrong(
          name.source(), absl::StrCat("the name of a route ", Quote(name.str()), " must be 1 to ",
                                      kLabelBytesMax, " of letters, digits, _ - . :"));
    }
    if (routes.size() == kCheckRoutesMax) {
      return document.Wrong(
          name.source(), absl::StrCat("a file of checks has at most ", kCheckRoutesMax, " routes"));
    }
    absl::StatusOr<CheckRoute> route = RouteReader(document, name.str(), is_user).Read(*table);
    if (!route.ok()) return route.status();
    routes.emplace(name.str(), std::make_shared<const CheckRoute>(*std::move(route)));
  }
  return routes;
}

}  // namespace

absl::StatusOr<CheckRoutes> ReadCheckRoutes(const std::string& path, IsUser is_user) {
  const absl::StatusOr<TomlDocument> document = TomlDocument::Read(path, "file of checks");
  if (!document.ok()) return document.status();
  return RoutesOf(*document, is_user);
}

absl::StatusOr<CheckRoutes> ParseCheckRoutes(std::string_view text, const std::string& path,
                                             IsUser is_user) {
  const absl::StatusOr<TomlDocument> document = TomlDocument::Parse(text, path);
  if (!document.ok()) return document.status();
  return RoutesOf(*document, is_user);
}

bool LooksLikeLimit(std::string_view word) noexcept {
  if (word.empty()) return false;
  return absl::ascii_isdigit(static_cast<unsigned char>(word.front())) || word.front() == '@' ||
         word == "none" || word.starts_with("unlimited");
}

std::shared_ptr<const CheckRoute> CheckRouteTable::Find(std::string_view name) const {
  const MutexLock lock(mutex_);
  const auto found = routes_.find(AbslView(name));
  return found == routes_.end() ? nullptr : found->second;
}

void CheckRouteTable::Replace(CheckRoutes routes) {
  const MutexLock lock(mutex_);
  const bool has_once =
      std::ranges::any_of(routes, [](const auto& route) { return route.second->once.has_value(); });
  if (has_once && !owned_) {
    owned_ = std::make_unique<AdmittedChecks>();
    admitted_.store(owned_.get(), std::memory_order_release);
  }
  absl::erase_if(incomplete_, [&](const auto& row) { return !routes.contains(row.first); });
  for (const auto& [name, route] : routes) incomplete_.try_emplace(name);
  routes_.swap(routes);
}

std::optional<std::uint64_t> CheckRouteTable::AddIncomplete(std::string_view name,
                                                            HostInstant now) {
  const MutexLock lock(mutex_);
  const auto found = incomplete_.find(AbslView(name));
  if (found == incomplete_.end()) return std::nullopt;  // another file is in force since
  IncompleteChecks& checks = found->second;
  ++checks.count;
  if (checks.told_at && now - *checks.told_at < kIncompleteInterval) return std::nullopt;
  checks.told_at = now;
  return checks.count - std::exchange(checks.told, checks.count);
}

std::vector<std::pair<std::string, std::uint64_t>> CheckRouteTable::Incomplete() const {
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  {
    const MutexLock lock(mutex_);
    for (const auto& [name, checks] : incomplete_) counts.emplace_back(name, checks.count);
  }
  std::ranges::sort(counts);
  return counts;
}

}  // namespace weir
