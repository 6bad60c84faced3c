// weir-docs: lists the documents that are made from the server's tables, or prints the one that its
// argument names. `./dev docs` writes them to their places, from the top of the tree.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "manual/documents.h"

int main(int argc, char** argv) {
  for (const weir::Document& document : weir::Documents()) {
    const std::string path(document.path);
    if (argc < 2) std::puts(path.c_str());
    if (argc > 1 && path == argv[1]) {
      std::ifstream file(path);
      const std::string present{std::istreambuf_iterator<char>(file), {}};
      const std::string text = TextOf(document, present);
      if (text.empty()) std::fprintf(stderr, "%s: not found, or without its marks\n", path.c_str());
      return text.empty() || std::fputs(text.c_str(), stdout) < 0;
    }
  }
  return argc < 2 ? 0 : 1;
}
