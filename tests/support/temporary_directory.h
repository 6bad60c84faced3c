// A temporary directory of a test; it is removed with its object.
//
//     TemporaryDirectory directory;
//     const std::string path = directory.Write("policies.toml", "[policies]\n");
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "core/base/check.h"

namespace weir {

class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_(std::filesystem::temp_directory_path() / "weir_test_XXXXXX") {
    WEIR_CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // Creates a file or replaces its bytes; returns its path.
  std::string Write(std::string_view name, std::string_view text) const {
    std::string path = path_ + "/" + std::string(name);
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text;
    WEIR_CHECK(file.flush().good());
    return path;
  }

 private:
  std::string path_;
};

}  // namespace weir
