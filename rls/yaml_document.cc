#include "rls/yaml_document.h"

#include <algorithm>
#include <array>
#include <exception>
#include <sstream>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "core/base/byte_order_mark.h"
#include "core/base/file_text.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "rls/rule_checks.h"

namespace weir {
namespace {

std::string TooManyNodes() { return absl::StrCat("more than ", kYamlNodesMax, " nodes"); }

bool IsForbidden(unsigned char c) {
  return absl::ascii_iscntrl(c) && c != '\t' && c != '\n' && c != '\r';
}

// What can be said before yaml-cpp reads the text. Each list and map between brackets has one, and
// a comma before each further node: yaml-cpp keeps all of them at 200 bytes each until a bracket
// has its partner, so their number is bounded here.
absl::Status CheckBytes(std::string_view text, const std::string& path) {
  if (text.size() > kYamlBytesMax) {
    return WrongAt(path, 1, absl::StrCat("more than ", kYamlBytesMax, " bytes"));
  }
  std::size_t line = 1;
  std::size_t brackets_and_commas = 0;
  for (const char c : text) {
    if (IsForbidden(static_cast<unsigned char>(c))) {
      return WrongAt(path, line,
                     absl::StrCat("not YAML: control byte 0x",
                                  absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2),
                                  " (the text is UTF-8)"));
    }
    brackets_and_commas += c == '[' || c == '{' || c == ',' ? 1 : 0;
    if (brackets_and_commas > kYamlNodesMax) return WrongAt(path, line, TooManyNodes());
    line += c == '\n' ? 1 : 0;
  }
  return absl::OkStatus();
}

// Makes nodes of yaml-cpp's events, of the first document and up to the bound.
class NodeBuilder : public YAML::EventHandler {
 public:
  explicit NodeBuilder(std::deque<YamlNode>& nodes) : nodes_(nodes) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 2) second_line_ = LineOf(mark);
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(YamlNode::Kind::kNull, mark, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (anchor < anchors_.size() && anchors_[anchor] != nullptr) {
      AddToOpen(anchors_[anchor]);
    } else {
      Add(YamlNode::Kind::kNull, mark, 0);
    }
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (YamlNode* node = Add(YamlNode::Kind::kText, mark, anchor)) {
      node->is_plain = tag == "?";
      node->text = value;
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    Open(Add(YamlNode::Kind::kList, mark, anchor));
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    Open(Add(YamlNode::Kind::kMap, mark, anchor));
  }
  void OnMapEnd() override { Close(); }

  // The lines of the errors; 0: there is none.
  [[nodiscard]] std::uint32_t second_line() const { return second_line_; }
  [[nodiscard]] std::uint32_t too_many_line() const { return too_many_line_; }

  static std::uint32_t LineOf(const YAML::Mark& mark) {
    return static_cast<std::uint32_t>(std::max(mark.line, 0)) + 1;
  }

 private:
  // Returns nothing for a node that is passed over.
  YamlNode* Add(YamlNode::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (documents_ > 1 || too_many_line_ != 0) return nullptr;
    if (nodes_.size() > 2 * kYamlNodesMax) {  // of which at most one half are keys
      too_many_line_ = LineOf(mark);
      return nullptr;
    }
    nodes_.push_back({.kind = kind, .line = LineOf(mark), .text = {}, .children = {}});
    YamlNode* const node = &nodes_.back();
    AddToOpen(node);
    if (anchor != 0) {
      if (anchors_.size() <= anchor) anchors_.resize(anchor + 1);
      anchors_[anchor] = node;
    }
    return node;
  }
  void AddToOpen(const YamlNode* node) {
    if (documents_ > 1 || open_.empty()) return;
    open_.back()->children.push_back(node);
  }
  void Open(YamlNode* node) {
    if (node != nullptr) open_.push_back(node);
  }
  void Close() {
    if (documents_ == 1 && too_many_line_ == 0) open_.pop_back();
  }

  std::deque<YamlNode>& nodes_;
  std::vector<YamlNode*> open_;           // the lists and maps around the next node
  std::vector<const YamlNode*> anchors_;  // by yaml-cpp's numbers, which begin with 1
  int documents_ = 0;
  std::uint32_t second_line_ = 0;
  std::uint32_t too_many_line_ = 0;
};

// yaml-cpp throws, and this function catches it.
absl::Status Build(std::string_view text, const std::string& path, NodeBuilder& builder) {
  absl::Status status;
  const auto not_yaml = [&](std::uint32_t line, std::string_view why) {
    status = WrongAt(path, line, absl::StrCat("not YAML: ", AbslView(why)));
  };
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (builder.second_line() == 0 && parser.HandleNextDocument(builder)) continue;
  } catch (const YAML::DeepRecursion& error) {
    not_yaml(NodeBuilder::LineOf(error.mark), "nested too deeply");
  } catch (const YAML::Exception& error) {
    not_yaml(NodeBuilder::LineOf(error.mark), error.msg);
  } catch (const std::exception& error) {
    not_yaml(1, error.what());
  }
  if (builder.second_line() != 0) return WrongAt(path, builder.second_line(), "a second document");
  if (builder.too_many_line() != 0) return WrongAt(path, builder.too_many_line(), TooManyNodes());
  return status;
}

std::string NounOf(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "null";
    case YamlNode::Kind::kText:
      return Quote(node.text);
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
  }
  return "";
}

bool IsMerge(const YamlNode& key) {
  return key.kind == YamlNode::Kind::kText && key.is_plain && key.text == "<<";
}

}  // namespace

// The fields of one map and of its bases.
struct YamlDocument::Merge {
  std::vector<YamlField> fields;
  absl::flat_hash_set<absl::string_view> names;
};

absl::StatusOr<YamlDocument> YamlDocument::Parse(std::string_view text, const std::string& path) {
  text = WithoutByteOrderMark(text);
  WEIR_RETURN_IF_ERROR(CheckBytes(text, path));
  YamlDocument document(path);
  NodeBuilder builder(document.nodes_);
  WEIR_RETURN_IF_ERROR(Build(text, path, builder));
  if (document.nodes_.empty()) document.nodes_.emplace_back();
  document.root_ = &document.nodes_.front();
  return document;
}

absl::Status YamlDocument::Wrong(const YamlNode& where, std::string_view what) const {
  return WrongAt(path_, where.line, what);
}

absl::Status YamlDocument::Look(const YamlNode& node, std::size_t children) {
  looks_ += children;
  return looks_ > kYamlNodesMax ? Wrong(node, TooManyNodes()) : absl::OkStatus();
}

absl::StatusOr<std::vector<YamlField>> YamlDocument::Fields(const YamlNode& map) {
  Merge merge;
  WEIR_RETURN_IF_ERROR(AddFields(map, 0, merge));
  return std::move(merge.fields);
}

absl::Status YamlDocument::AddFields(const YamlNode& map, int merges, Merge& merge) {
  if (map.kind != YamlNode::Kind::kMap) {
    return Wrong(map, absl::StrCat("expected a map, got ", NounOf(map)));
  }
  if (merges > kYamlMergesMax) {
    return Wrong(map, absl::StrCat("more than ", kYamlMergesMax, " merges (<<) of merges"));
  }
  WEIR_RETURN_IF_ERROR(Look(map, map.children.size() / 2));
  absl::flat_hash_set<absl::string_view> own;
  for (std::size_t i = 0; i + 1 < map.children.size(); i += 2) {
    const YamlNode& key = *map.children[i];
    if (key.kind != YamlNode::Kind::kText) {
      return Wrong(key, absl::StrCat("expected a text as a key, got ", NounOf(key)));
    }
    if (!own.insert(key.text).second) {
      return Wrong(key, absl::StrCat("key ", Quote(key.text), " stands twice"));
    }
    if (IsMerge(key) || !merge.names.insert(key.text).second) continue;
    merge.fields.push_back({.key = &key, .value = map.children[i + 1]});
  }
  for (std::size_t i = 0; i + 1 < map.children.size(); i += 2) {
    if (!IsMerge(*map.children[i])) continue;
    WEIR_RETURN_IF_ERROR(AddBases(*map.children[i + 1], merges + 1, merge));
  }
  return absl::OkStatus();
}

absl::Status YamlDocument::AddBases(const YamlNode& bases, int merges, Merge& merge) {
  if (bases.kind != YamlNode::Kind::kList) return AddFields(bases, merges, merge);
  WEIR_RETURN_IF_ERROR(Look(bases, bases.children.size()));
  for (const YamlNode* base : bases.children) {
    WEIR_RETURN_IF_ERROR(AddFields(*base, merges, merge));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::span<const YamlNode* const>> YamlDocument::Elements(const YamlNode& list) {
  if (list.kind != YamlNode::Kind::kList && list.kind != YamlNode::Kind::kNull) {
    return Wrong(list, absl::StrCat("expected a list, got ", NounOf(list)));
  }
  WEIR_RETURN_IF_ERROR(Look(list, list.children.size()));
  return std::span(list.children);
}

absl::StatusOr<std::string_view> YamlDocument::Text(const YamlNode& scalar,
                                                    std::size_t bytes_max) const {
  if (scalar.kind != YamlNode::Kind::kText && scalar.kind != YamlNode::Kind::kNull) {
    return Wrong(scalar, absl::StrCat("expected a text, got ", NounOf(scalar)));
  }
  const absl::Status fits = CheckRuleText(scalar.text, bytes_max);
  if (!fits.ok()) return Wrong(scalar, StdView(fits.message()));
  return scalar.text;
}

bool ReadYamlTruth(std::string_view text, bool& truth) {
  constexpr std::array<std::string_view, 3> kTrue = {"true", "yes", "on"};
  constexpr std::array<std::string_view, 3> kFalse = {"false", "no", "off"};
  const std::string lower = absl::AsciiStrToLower(AbslView(text.substr(0, 8)));
  std::string capital = lower;
  if (!capital.empty())
    capital.front() = absl::ascii_toupper(static_cast<unsigned char>(capital[0]));
  if (text != lower && text != capital && text != absl::AsciiStrToUpper(lower)) return false;
  truth = std::ranges::find(kTrue, lower) != kTrue.end();
  return truth || std::ranges::find(kFalse, lower) != kFalse.end();
}

}  // namespace weir
