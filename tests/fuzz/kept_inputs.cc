// The main() of a fuzz target in a build without libFuzzer: limit_grammar_fuzz FOLDER
//
// Runs the target with each input that is kept in the folder, and with no bytes. An input whose
// property does not hold ends the program; its path is the last that was printed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " FOLDER\n";
    return EXIT_FAILURE;
  }
  LLVMFuzzerTestOneInput(nullptr, 0);
  std::vector<std::filesystem::path> paths;
  std::ranges::copy(std::filesystem::directory_iterator(argv[1]), std::back_inserter(paths));
  if (paths.empty()) {
    std::cerr << argv[1] << " has no inputs\n";
    return EXIT_FAILURE;
  }
  std::ranges::sort(paths);
  for (const std::filesystem::path& path : paths) {
    std::cout << path.string() << std::endl;
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  return EXIT_SUCCESS;
}
