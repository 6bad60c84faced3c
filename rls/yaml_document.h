// A document of YAML as a tree of nodes, and errors that name a place in it. Only yaml_document.cc
// knows yaml-cpp, and no exception of that library leaves it.
//
//     absl::StatusOr<YamlDocument> document = YamlDocument::Parse("a: [1, 2]", "a.yaml");
//     document->Fields(document->root())       // {a, its node}
//
// Hostile text costs a bounded time: 4 MiB of bytes, 200,000 nodes, and 200,000 looks at a node, so
// that aliases which multiply end in an error, as does an alias of itself. A node's tag is known
// only as far as `is_plain` tells: !!str makes a text of what would be a number.
//
// Anchors, aliases and merges (`<<: *base`, `<<: [*first, *second]`) are read: a key of the map
// itself wins, then the earlier base. Control bytes other than tabs and line ends are refused, as
// YAML says: yaml-cpp would take 0x04 for the end of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir {

inline constexpr std::size_t kYamlBytesMax = 4 * 1024 * 1024;
inline constexpr std::size_t kYamlNodesMax = 200'000;
inline constexpr int kYamlMergesMax = 16;  // bases of bases

// A node, at an address that stays as long as its document. Two aliases of it are the same node.
struct YamlNode {
  enum class Kind : std::uint8_t { kNull, kText, kList, kMap };

  Kind kind = Kind::kNull;
  bool is_plain = false;  // a text without quotes and tag, which may mean a number
  std::uint32_t line = 1;
  std::string text;
  // The elements of a list; the keys of a map, each before its value.
  std::vector<const YamlNode*> children;
};

struct YamlField {
  const YamlNode* key = nullptr;  // a text
  const YamlNode* value = nullptr;

  [[nodiscard]] std::string_view name() const noexcept { return key->text; }
};

// Not thread-safe: it counts the looks. Movable.
class YamlDocument {
 public:
  // Reads one document of UTF-8; `path` is its name in errors. An empty text is a null. Fails with
  // kInvalidArgument, as all functions here do. Cost: about 1 us a node and 0.1 us a byte.
  [[nodiscard]] static absl::StatusOr<YamlDocument> Parse(std::string_view text,
                                                          const std::string& path);

  [[nodiscard]] const YamlNode& root() const noexcept { return *root_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // The error `what` with the place of a node: "a.yaml:3: ...". It has one line: a control byte of
  // `what` is written as '?'.
  [[nodiscard]] absl::Status Wrong(const YamlNode& where, std::string_view what) const;

  // The fields of a map in the order of the text, then those of its bases. Fails unless it is a map
  // whose keys are distinct texts.
  [[nodiscard]] absl::StatusOr<std::vector<YamlField>> Fields(const YamlNode& map);

  // The elements of a list; none of a null. Fails if it is another node.
  [[nodiscard]] absl::StatusOr<std::span<const YamlNode* const>> Elements(const YamlNode& list);

  // The text of a scalar; empty for a null. Fails for a list or a map, or more bytes than these.
  [[nodiscard]] absl::StatusOr<std::string_view> Text(const YamlNode& scalar,
                                                      std::size_t bytes_max) const;

 private:
  struct Merge;

  explicit YamlDocument(std::string path) : path_(std::move(path)) {}

  // Counts looks at the children of a node.
  [[nodiscard]] absl::Status Look(const YamlNode& node, std::size_t children);
  [[nodiscard]] absl::Status AddFields(const YamlNode& map, int merges, Merge& merge);
  [[nodiscard]] absl::Status AddBases(const YamlNode& bases, int merges, Merge& merge);

  std::string path_;
  std::deque<YamlNode> nodes_;
  const YamlNode* root_ = nullptr;
  std::size_t looks_ = 0;
};

// True for a scalar that YAML reads as a truth: true, yes, on or false, no, off, in lower case, in
// upper case or with a capital. The value goes to `truth`.
[[nodiscard]] bool ReadYamlTruth(std::string_view text, bool& truth);

}  // namespace weir
