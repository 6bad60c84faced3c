// Rules about #include lines.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

#include "tests/tidy/rules.h"

namespace weir::tidy {
namespace {

// The folders, or rooms of a folder, that a folder may include besides itself. Tests and benchmarks
// may include all of them.
const std::map<std::string_view, std::vector<std::string_view>>& Arrows() {
  static const std::map<std::string_view, std::vector<std::string_view>> kArrows = {
      {"core", {}},
      {"protocol", {"core/base"}},
      {"http2", {"core/base"}},
      {"persistence", {"core"}},
      {"replication", {"core"}},
      {"server", {"edge", "replication", "persistence", "protocol", "http2", "rls", "core"}},
      {"module", {"core"}},
      {"replay", {"protocol", "core"}},
      {"rls", {"core"}},
      {"edge", {"core"}},
      {"check", {"server", "rls", "replication", "persistence", "core"}},
      {"manual", {"server", "replay", "check", "core"}},
  };
  return kArrows;
}

// The rooms of a folder, each after all rooms that it may include.
const std::map<std::string_view, std::vector<std::string_view>>& Rooms() {
  static const std::map<std::string_view, std::vector<std::string_view>> kRooms = {
      {"core",
       {"base", "spelling", "rules", "table", "words", "policies", "plans", "limiter", "commands"}},
      {"module", {"api", "values", "handlers"}},
      {"server",
       {"os", "config", "commands", "state", "access", "observe", "session", "health", "measures",
        "handlers", "http", "grpc", "json", "rls", "page", "net", "replicas", "edge", "xds"}},
  };
  return kRooms;
}

// Rooms of the server that may not include each other.
constexpr auto kNeighbours = std::to_array<std::array<std::string_view, 2>>({
    {"access", "state"},      {"observe", "state"}, {"handlers", "http"}, {"handlers", "net"},
    {"handlers", "grpc"},     {"handlers", "json"}, {"handlers", "page"}, {"http", "net"},
    {"grpc", "json"},         {"grpc", "page"},     {"grpc", "net"},      {"json", "net"},
    {"handlers", "rls"},      {"rls", "net"},       {"rls", "replicas"},  {"page", "net"},
    {"handlers", "replicas"}, {"http", "replicas"}, {"grpc", "replicas"}, {"json", "replicas"},
    {"page", "replicas"},     {"handlers", "edge"}, {"http", "edge"},     {"grpc", "edge"},
    {"json", "edge"},         {"rls", "edge"},      {"page", "edge"},     {"replicas", "edge"},
});

// A library or a header that only one folder or two, and the tests of these, may include.
struct Confined {
  std::string_view prefix;  // of what is included
  std::string_view folder;
  std::string_view other_folder = "";
};

constexpr Confined kConfined[] = {
    {.prefix = "asio", .folder = "server"},
    {.prefix = "prometheus/", .folder = "server"},
    {.prefix = "rocksdb/", .folder = "persistence"},
    {.prefix = "systemd/", .folder = "server"},
    {.prefix = "zlib.h", .folder = "replication", .other_folder = "replay"},
    {.prefix = "redismodule.h", .folder = "module"},
    {.prefix = "valkeymodule.h", .folder = "module"},
    {.prefix = "yaml-cpp/", .folder = "rls"},
    {.prefix = "nghttp2/", .folder = "http2", .other_folder = "tests/support"},
    {.prefix = "core/limiter/limiter_table.h", .folder = "core/limiter"},
};

// The one file outside of tests/ that may include Boost: Beast's parser of HTTP, which in its turn
// includes a header of Boost.Asio. Nothing else of the two is included anywhere.
constexpr std::string_view kBeastFile = "protocol/http_request.cc";
constexpr std::string_view kBeastHeader = "boost/beast/http/basic_parser.hpp";

// True if including `included` in `file` is against the rule of kBeastFile.
bool IsBoostAstray(const SourceFile& file, std::string_view included) {
  if (!included.starts_with("boost/")) return false;
  if (file.path == kBeastFile) return included != kBeastHeader;
  return !file.path.starts_with("tests/") || included.starts_with("boost/beast") ||
         included.starts_with("boost/asio");
}

// "core/rules/limit.h" for `#include "core/rules/limit.h"`; "" for any other line.
std::string_view Included(const SourceFile& file, std::size_t index) {
  constexpr std::string_view kDirective = "#include ";
  if (!file.code[index].starts_with(kDirective)) return "";
  std::string_view name = std::string_view(file.lines[index]).substr(kDirective.size());
  name = name.substr(0, name.find_first_of(">\"", 1));
  return name.empty() ? name : name.substr(1);
}

// "rules" for "core/rules/limit.h"; "" for "server/main.cc".
std::string_view Room(std::string_view path) {
  const std::size_t first = path.find('/');
  const std::size_t second = path.find('/', first + 1);
  return second == std::string_view::npos ? "" : path.substr(first + 1, second - first - 1);
}

// Requires: both files are in one folder. A file beside the rooms, like main.cc, may include all.
bool RoomMayInclude(std::string_view folder, std::string_view from, std::string_view to) {
  if (from.empty() || from == to || !Rooms().contains(folder)) return true;
  const auto& rooms = Rooms().at(folder);
  const auto place = [&](std::string_view room) { return std::ranges::find(rooms, room); };
  if (place(from) == rooms.end() || place(to) >= place(from)) return false;
  return std::ranges::none_of(kNeighbours, [&](const auto& pair) {
    return std::ranges::count(pair, from) > 0 && std::ranges::count(pair, to) > 0;
  });
}

bool MayInclude(std::string_view from, std::string_view included) {
  const std::string_view to = included.substr(0, included.find('/'));
  if (from == to) return true;
  if (!Arrows().contains(from)) return true;
  const bool ours = Arrows().contains(to) || to == "tests" || to == "bench";
  return !ours || std::ranges::any_of(Arrows().at(from), [&](std::string_view allowed) {
    return included.starts_with(allowed) && included.substr(allowed.size()).starts_with('/');
  });
}

// True for a file of the folder, or of its tests.
bool IsIn(const SourceFile& file, std::string_view folder) {
  const std::string prefix = std::string(folder) + "/";
  return file.path.starts_with(prefix) || file.path.starts_with("tests/" + prefix);
}

}  // namespace

Findings IncludeArrows(const SourceFile& file) {
  Findings findings;
  const std::string_view folder = Folder(file);
  for (std::size_t i = 0; i < file.code.size(); ++i) {
    const std::string_view included = Included(file, i);
    if (!MayInclude(folder, included)) {
      findings.push_back(
          {file.path, i + 1,
           std::string(folder) + " may not include " + std::string(included) +
               ": the arrows are server -> edge, replication, persistence, "
               "protocol, http2, rls, core; replication -> core; persistence -> core; "
               "protocol -> core/base; http2 -> core/base; module -> core; "
               "replay -> protocol, core; rls -> core; edge -> core; "
               "check -> server, rls, replication, persistence, core; "
               "manual -> server, replay, check, core"});
    }
    const bool same_folder = included.substr(0, included.find('/')) == folder;
    if (same_folder && !RoomMayInclude(folder, Room(file.path), Room(included))) {
      findings.push_back({file.path, i + 1,
                          std::string(Room(file.path)) + " may not include " +
                              std::string(included) + ": see Rooms in include_rules.cc"});
    }
    if (IsBoostAstray(file, included)) {
      findings.push_back({file.path, i + 1,
                          std::string(included) + ": only " + std::string(kBeastFile) +
                              " may include " + std::string(kBeastHeader) +
                              ", and nothing but tests more of Boost"});
    }
    for (const auto& [prefix, owner, other_owner] : kConfined) {
      const bool at_home = IsIn(file, owner) || (!other_owner.empty() && IsIn(file, other_owner));
      if (included.starts_with(prefix) && !at_home) {
        findings.push_back({file.path, i + 1,
                            std::string(included) + " belongs to " + std::string(owner) +
                                "/: give it an interface there"});
      }
    }
  }
  return findings;
}

Findings SmallRooms(const std::vector<SourceFile>& tree) {
  std::map<std::string, std::size_t> files;
  for (const SourceFile& file : tree) {
    const std::string folder = file.path.substr(0, file.path.rfind('/') + 1);
    if (IsCpp(file) || (folder.starts_with("tests/") && file.path.ends_with(".py"))) {
      ++files[folder];
    }
  }
  Findings findings;
  for (const auto& [folder, count] : files) {
    const bool is_test = folder.starts_with("tests/");
    const std::size_t most = is_test ? kTestFolderFilesMax : kRoomFilesMax;
    if (count <= most || !(is_test || Rooms().contains(folder.substr(0, folder.find('/'))))) {
      continue;
    }
    findings.push_back({folder, 0,
                        std::to_string(count) + " source files, at most " + std::to_string(most) +
                            ": find the two rooms that it is"});
  }
  return findings;
}

Findings PragmaOnce(const SourceFile& file) {
  if (!IsHeader(file)) return {};
  for (std::size_t i = 0; i < file.code.size(); ++i) {
    if (file.code[i].find_first_not_of(' ') == std::string::npos) continue;
    if (file.code[i] == "#pragma once") return {};
    return {{file.path, i + 1, "the first line of code of a header is `#pragma once`"}};
  }
  return {{file.path, 0, "the header has no code"}};
}

}  // namespace weir::tidy
