// The files of a directory, for tests that nothing has changed them.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace weir {

// Maps each name to the time of the file's last change and its bytes, and "." to the time of the
// last change to the names. Requires: a directory without directories.
inline std::map<std::string, std::string> FilesOf(const std::string& path) {
  const auto text_of = [](std::filesystem::file_time_type time) {
    return std::to_string(time.time_since_epoch().count());
  };
  std::map<std::string, std::string> files;
  files["."] = text_of(std::filesystem::last_write_time(path));
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    files[entry.path().filename()] = text_of(entry.last_write_time()) + " " + bytes;
  }
  return files;
}

}  // namespace weir
