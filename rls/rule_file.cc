#include "rls/rule_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <span>
#include <system_error>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/file_text.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"
#include "rls/rule_checks.h"
#include "rls/yaml_document.h"

namespace weir {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 4> kFileKeys = {"domain", "descriptors", "on_no_match",
                                                       "hits"};
constexpr std::array<std::string_view, 10> kDescriptorKeys = {
    "key",        "value",           "rate_limit",      "descriptors",     "shadow_mode",
    "quota_mode", "detailed_metric", "value_to_metric", "share_threshold", "metadata"};
constexpr std::array<std::string_view, 9> kLimitKeys = {
    "unit",     "requests_per_unit", "unlimited", "name",
    "replaces", "unit_multiplier",   "algorithm", "burst",
    "limits"};
constexpr std::array<std::string_view, 1> kReplacedKeys = {"name"};

// Keys that envoyproxy/ratelimit does not have: it refuses the file.
constexpr std::array<std::string_view, 6> kOwnKeys = {"on_no_match", "hits",  "unit_multiplier",
                                                      "algorithm",   "burst", "limits"};

struct FlagRow {
  std::string_view key;
  bool Rule::*flag;
};
constexpr std::array<FlagRow, 5> kFlags = {{{"shadow_mode", &Rule::shadow_mode},
                                            {"quota_mode", &Rule::quota_mode},
                                            {"detailed_metric", &Rule::detailed_metric},
                                            {"value_to_metric", &Rule::value_to_metric},
                                            {"share_threshold", &Rule::share_threshold}}};

std::string List(Names names) {
  return absl::StrJoin(names, ", ", [](std::string* out, std::string_view name) {
    absl::StrAppend(out, AbslView(name));
  });
}

// A plain scalar of digits, with a sign, a fraction and an exponent where it has them.
bool ReadNumber(std::string_view text, double& number) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789.eE+-") != std::string_view::npos ||
      digits.find_first_of("0123456789") > 1) {
    return false;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

// A map of the file by its keys. A field whose value is null counts as missing.
class Fields {
 public:
  Fields(const YamlNode& map, std::vector<YamlField> fields)
      : map_(&map), fields_(std::move(fields)) {}

  [[nodiscard]] const YamlNode& map() const { return *map_; }
  [[nodiscard]] const std::vector<YamlField>& all() const { return fields_; }
  [[nodiscard]] const YamlField* Find(std::string_view name) const {
    const auto field = std::ranges::find(fields_, name, &YamlField::name);
    if (field == fields_.end() || field->value->kind == YamlNode::Kind::kNull) return nullptr;
    return &*field;
  }

 private:
  const YamlNode* map_;
  std::vector<YamlField> fields_;
};

// Reads one document into one RuleFile.
class RuleReader {
 public:
  explicit RuleReader(YamlDocument& document) : document_(document) {
    file_.path = document.path();
  }

  absl::Status Read() {
    const YamlNode& root = document_.root();
    if (root.kind == YamlNode::Kind::kNull) return At(root, CheckDomain(""));
    const absl::StatusOr<Fields> fields = FieldsOf(root, kFileKeys);
    if (!fields.ok()) return fields.status();
    WEIR_RETURN_IF_ERROR(ReadText(*fields, "domain", kDomainBytesMax, file_.domain));
    WEIR_RETURN_IF_ERROR(At(root, CheckDomain(file_.domain)));
    file_.domain_line = fields->Find("domain")->value->line;
    WEIR_RETURN_IF_ERROR(ReadChoice(*fields, "on_no_match", "ok", OnNoMatch::kOk, "deny",
                                    OnNoMatch::kDeny, file_.on_no_match));
    WEIR_RETURN_IF_ERROR(
        ReadChoice(*fields, "hits", "report", HitsWay::kReport, "ask", HitsWay::kAsk, file_.hits));
    return ReadDescriptors(*fields, Rule::kNoParent, 1);
  }

  RuleFile&& file() && { return std::move(file_); }

 private:
  [[nodiscard]] absl::Status Wrong(const YamlNode& where, std::string_view what) const {
    return document_.Wrong(where, what);
  }
  // The error of a check with the place of a node.
  [[nodiscard]] absl::Status At(const YamlNode& where, const absl::Status& checked) const {
    return checked.ok() ? checked : Wrong(where, StdView(checked.message()));
  }
  // The error for a field whose text is none of those that may stand there.
  [[nodiscard]] absl::Status WrongText(const YamlField& field, std::string_view right) const {
    return Wrong(*field.value, absl::StrCat(AbslView(field.name()), " ", Quote(field.value->text),
                                            ": ", AbslView(right)));
  }
  void Remark(std::uint32_t line, std::string_view what) {
    file_.remarks.push_back({.line = line, .text = std::string(what)});
  }

  absl::StatusOr<Fields> FieldsOf(const YamlNode& node, Names known) {
    absl::StatusOr<std::vector<YamlField>> fields = document_.Fields(node);
    if (!fields.ok()) return fields.status();
    for (const YamlField& field : *fields) {
      const std::string_view name = field.name();
      if (std::ranges::find(known, name) == known.end()) {
        return Wrong(*field.key, absl::StrCat("unknown key ", Quote(name), " (", List(known), ")"));
      }
      const auto own = std::ranges::find(kOwnKeys, name);
      if (own != kOwnKeys.end() && own_keys_.insert(AbslView(*own)).second) {
        Remark(field.key->line, absl::StrCat(Quote(name),
                                             " is a key of weir's own: "
                                             "envoyproxy/ratelimit refuses the file"));
      }
    }
    return Fields(node, *std::move(fields));
  }

  // These leave a field that is missing as it is.
  absl::Status ReadText(const Fields& fields, std::string_view name, std::size_t bytes_max,
                        std::string& text) {
    const YamlField* const field = fields.Find(name);
    if (field == nullptr) return absl::OkStatus();
    const absl::StatusOr<std::string_view> read = document_.Text(*field->value, bytes_max);
    if (read.ok()) text = *read;
    return read.status();
  }
  absl::Status ReadTruth(const Fields& fields, std::string_view name, bool& truth) {
    const YamlField* const field = fields.Find(name);
    if (field == nullptr) return absl::OkStatus();
    const absl::StatusOr<std::string_view> read = document_.Text(*field->value, kRuleTextBytesMax);
    if (!read.ok()) return read.status();
    return ReadYamlTruth(*read, truth) ? absl::OkStatus() : WrongText(*field, "true or false");
  }
  template <typename T>
  absl::Status ReadChoice(const Fields& fields, std::string_view name, std::string_view first_word,
                          T first, std::string_view second_word, T second,
                          std::optional<T>& choice) {
    std::string text;
    WEIR_RETURN_IF_ERROR(ReadText(fields, name, kRuleTextBytesMax, text));
    const YamlField* const field = fields.Find(name);
    if (field == nullptr) return absl::OkStatus();
    if (text == first_word) choice = first;
    if (text == second_word) choice = second;
    return choice ? absl::OkStatus()
                  : WrongText(*field,
                              absl::StrCat(AbslView(first_word), " or ", AbslView(second_word)));
  }
  absl::Status ReadNumberUpTo(const Fields& fields, std::string_view name, std::int64_t least,
                              std::int64_t most, std::string_view hint, std::int64_t& number) {
    std::string text;
    WEIR_RETURN_IF_ERROR(ReadText(fields, name, kRuleTextBytesMax, text));
    const YamlField* const field = fields.Find(name);
    if (field == nullptr) return absl::OkStatus();
    const std::optional<std::int64_t> digits = ParseDigits(text);
    if (!digits || *digits < least || *digits > most) {
      return WrongText(*field, absl::StrCat("must be a whole number from ", least, " to ", most,
                                            AbslView(hint)));
    }
    number = *digits;
    return absl::OkStatus();
  }

  absl::Status ReadDescriptors(const Fields& fields, std::uint32_t parent, int level) {
    const YamlField* const field = fields.Find("descriptors");
    if (field == nullptr) return absl::OkStatus();
    const auto list = document_.Elements(*field->value);
    if (!list.ok()) return list.status();
    if (!list->empty()) WEIR_RETURN_IF_ERROR(At(*field->key, CheckRuleLevel(level)));
    for (const YamlNode* descriptor : *list) {
      WEIR_RETURN_IF_ERROR(ReadDescriptor(*descriptor, parent, level));
    }
    return absl::OkStatus();
  }

  absl::Status ReadDescriptor(const YamlNode& node, std::uint32_t parent, int level) {
    const absl::StatusOr<Fields> fields = FieldsOf(node, kDescriptorKeys);
    if (!fields.ok()) return fields.status();
    Rule rule;
    rule.parent = parent;
    WEIR_RETURN_IF_ERROR(ReadText(*fields, "key", kRuleTextBytesMax, rule.key));
    WEIR_RETURN_IF_ERROR(At(node, CheckRuleKey(rule.key)));
    rule.line = fields->Find("key")->value->line;
    WEIR_RETURN_IF_ERROR(ReadText(*fields, "value", kRuleTextBytesMax, rule.value));
    for (const FlagRow& row : kFlags) {
      WEIR_RETURN_IF_ERROR(ReadTruth(*fields, row.key, rule.*row.flag));
    }
    if (rule.share_threshold && !IsPattern(rule)) {
      return Wrong(*fields->Find("share_threshold")->value,
                   "share_threshold needs a '*' in the key or the value");
    }
    WEIR_RETURN_IF_ERROR(ReadLimit(*fields, rule));
    if (const YamlField* const metadata = fields->Find("metadata")) {
      MetadataBound bound;
      WEIR_RETURN_IF_ERROR(ReadMetadataMap(*metadata->value, 1, bound, rule.metadata));
    }
    WEIR_RETURN_IF_ERROR(At(node, CheckRuleCount(file_.rules.size())));
    file_.rules.push_back(std::move(rule));
    return ReadDescriptors(*fields, static_cast<std::uint32_t>(file_.rules.size() - 1), level + 1);
  }

  absl::Status ReadLimit(const Fields& descriptor, Rule& rule) {
    const YamlField* const field = descriptor.Find("rate_limit");
    if (field == nullptr) return absl::OkStatus();
    const absl::StatusOr<Fields> fields = FieldsOf(*field->value, kLimitKeys);
    if (!fields.ok()) return fields.status();
    RuleLimit& limit = rule.limit.emplace();
    WEIR_RETURN_IF_ERROR(ReadText(*fields, "name", kRuleTextBytesMax, limit.name));
    WEIR_RETURN_IF_ERROR(ReadReplaces(*fields, limit));
    bool is_unlimited = false;
    WEIR_RETURN_IF_ERROR(ReadTruth(*fields, "unlimited", is_unlimited));
    if (is_unlimited) {
      // A number beside it is passed over, as by the reference.
      WEIR_RETURN_IF_ERROR(StandAlone(*fields, "unlimited",
                                      {"unit", "unit_multiplier", "algorithm", "burst", "limits"}));
      SetUnlimited(limit);
      return absl::OkStatus();
    }
    if (fields->Find("limits") == nullptr) return ReadUnitAndNumber(*fields, limit);
    WEIR_RETURN_IF_ERROR(StandAlone(
        *fields, "limits", {"unit", "requests_per_unit", "unit_multiplier", "algorithm", "burst"}));
    return ReadWords(*fields, limit);
  }

  absl::Status StandAlone(const Fields& fields, std::string_view name,
                          std::initializer_list<std::string_view> others) const {
    for (const std::string_view other : others) {
      if (const YamlField* const field = fields.Find(other)) {
        return At(*field->key, StandsBeside(other, name));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadReplaces(const Fields& fields, RuleLimit& limit) {
    const YamlField* const field = fields.Find("replaces");
    if (field == nullptr) return absl::OkStatus();
    const auto list = document_.Elements(*field->value);
    if (!list.ok()) return list.status();
    for (const YamlNode* node : *list) {
      const absl::StatusOr<Fields> replaced = FieldsOf(*node, kReplacedKeys);
      if (!replaced.ok()) return replaced.status();
      std::string name;
      WEIR_RETURN_IF_ERROR(ReadText(*replaced, "name", kRuleTextBytesMax, name));
      WEIR_RETURN_IF_ERROR(At(*node, AddReplaced(std::move(name), limit)));
    }
    return absl::OkStatus();
  }

  absl::Status ReadUnitAndNumber(const Fields& fields, RuleLimit& limit) {
    const YamlField* const unit_field = fields.Find("unit");
    std::string unit_word;
    WEIR_RETURN_IF_ERROR(ReadText(fields, "unit", kRuleTextBytesMax, unit_word));
    const absl::StatusOr<const RuleUnitRow*> unit = FindRuleUnit(unit_word);
    WEIR_RETURN_IF_ERROR(
        At(unit_field == nullptr ? fields.map() : *unit_field->value, unit.status()));
    std::int64_t multiplier = 1;
    WEIR_RETURN_IF_ERROR(ReadNumberUpTo(fields, "unit_multiplier", 1, (*unit)->multiplier_max,
                                        " (9 years)", multiplier));
    std::int64_t number = 0;
    WEIR_RETURN_IF_ERROR(ReadNumberUpTo(fields, "requests_per_unit", 0, UINT32_MAX,
                                        " (unlimited: true for more)", number));
    RemarkOnNumber(fields, number);
    const absl::StatusOr<std::string> options = AlgorithmOf(fields);
    if (!options.ok()) return options.status();
    return At(fields.map(), SetRate({.unit = **unit,
                                     .multiplier = multiplier,
                                     .requests = static_cast<std::uint32_t>(number),
                                     .options = *options},
                                    limit));
  }

  void RemarkOnNumber(const Fields& fields, std::int64_t number) {
    const YamlField* const field = fields.Find("requests_per_unit");
    if (field == nullptr) {
      Remark(fields.map().line, "a limit without requests_per_unit: it is 0, and all is denied");
    } else if (number > kWindowCountMax) {
      Remark(field->value->line, absl::StrCat("requests_per_unit ", number, " is decided as ",
                                              kWindowCountMax, "; no limit is `unlimited: true`"));
    }
  }

  // The options of a limit's word: ",fixed,aligned" if the file does not say else.
  absl::StatusOr<std::string> AlgorithmOf(const Fields& fields) {
    std::string algorithm = "fixed";
    WEIR_RETURN_IF_ERROR(ReadText(fields, "algorithm", kRuleTextBytesMax, algorithm));
    std::int64_t burst = 0;
    WEIR_RETURN_IF_ERROR(ReadNumberUpTo(fields, "burst", 1, kCountMax, "", burst));
    if (algorithm == "bucket") return burst == 0 ? "" : absl::StrCat(",burst=", burst);
    if (burst != 0) {
      return Wrong(*fields.Find("burst")->key, "burst needs algorithm: bucket");
    }
    if (algorithm == "fixed") return ",fixed,aligned";
    if (algorithm == "sliding") return ",sliding";
    return Wrong(*fields.Find("algorithm")->value,
                 absl::StrCat("unknown algorithm ", Quote(algorithm), " (fixed, bucket, sliding)"));
  }

  absl::Status ReadWords(const Fields& fields, RuleLimit& limit) {
    const YamlNode& node = *fields.Find("limits")->value;
    const auto words = document_.Elements(node);
    if (!words.ok()) return words.status();
    if (words->empty() || words->size() > kRuleLimitsMax) {
      return Wrong(node, absl::StrCat("limits has 1 to ", kRuleLimitsMax, " limits"));
    }
    for (const YamlNode* word : *words) {
      const absl::StatusOr<std::string_view> text = document_.Text(*word, kRuleTextBytesMax);
      if (!text.ok()) return text.status();
      WEIR_RETURN_IF_ERROR(At(*word, AddLimitWord(*text, limit)));
      const PolicyLimit& read = limit.limits.back();
      if (!read.limit.has_bucket() || read.limit.is_held() || read.limit.shape().shadow ||
          read.cost || !read.label.empty()) {
        return Wrong(*word, absl::StrCat("invalid limit ", Quote(*text),
                                         ": a rule has no held, cost=, shadow, name=, none and "
                                         "unlimited"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadMetadataMap(const YamlNode& node, int level, MetadataBound& bound,
                               Metadata::Map& map) {
    const absl::StatusOr<std::vector<YamlField>> fields = document_.Fields(node);
    if (!fields.ok()) return fields.status();
    for (const YamlField& field : *fields) {
      bound.AddKey(field.name());
      map.push_back({.key = std::string(field.name()), .metadata = {}});
      WEIR_RETURN_IF_ERROR(ReadMetadata(*field.value, level + 1, bound, map.back().metadata));
    }
    return absl::OkStatus();
  }

  absl::Status ReadMetadata(const YamlNode& node, int level, MetadataBound& bound,
                            Metadata& metadata) {
    WEIR_RETURN_IF_ERROR(At(node, bound.AddValue(node.text.size())));
    const bool is_scalar = node.kind == YamlNode::Kind::kNull || node.kind == YamlNode::Kind::kText;
    if (is_scalar) {
      ReadScalar(node, metadata);
      return absl::OkStatus();
    }
    WEIR_RETURN_IF_ERROR(At(node, MetadataBound::CheckLevel(level)));
    if (node.kind == YamlNode::Kind::kMap) {
      return ReadMetadataMap(node, level, bound, metadata.value.emplace<Metadata::Map>());
    }
    const auto list = document_.Elements(node);
    if (!list.ok()) return list.status();
    auto& elements = metadata.value.emplace<Metadata::List>();
    for (const YamlNode* element : *list) {
      WEIR_RETURN_IF_ERROR(ReadMetadata(*element, level + 1, bound, elements.emplace_back()));
    }
    return absl::OkStatus();
  }

  static void ReadScalar(const YamlNode& node, Metadata& metadata) {
    if (node.kind == YamlNode::Kind::kNull) return;
    bool truth = false;
    double number = 0;
    if (node.is_plain && ReadYamlTruth(node.text, truth)) {
      metadata.value = truth;
    } else if (node.is_plain && ReadNumber(node.text, number)) {
      metadata.value = number;
    } else {
      metadata.value = node.text;
    }
  }

  YamlDocument& document_;
  RuleFile file_;
  absl::flat_hash_set<absl::string_view> own_keys_;  // of which a remark tells
};

}  // namespace

absl::StatusOr<RuleFile> ParseRuleFile(std::string_view text, const std::string& path) {
  absl::StatusOr<YamlDocument> document = YamlDocument::Parse(text, path);
  if (!document.ok()) return document.status();
  RuleReader reader(*document);
  WEIR_RETURN_IF_ERROR(reader.Read());
  return std::move(reader).file();
}

absl::StatusOr<RuleFile> ReadRuleFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFileText(path, "rule file", kYamlBytesMax);
  if (!text.ok()) return text.status();
  return ParseRuleFile(*text, path);
}

}  // namespace weir
