// Runs a fuzz target over every file of its corpus (the directory or files of the command line), so
// that past findings stay fixed in builds without libFuzzer.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> inputs;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      inputs.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) inputs.push_back(entry.path());
    }
  }
  std::sort(inputs.begin(), inputs.end());
  for (const auto& input : inputs) {
    const auto bytes = culprit::ReadFile(input);
    if (!bytes.ok()) {
      std::fprintf(stderr, "%s\n", bytes.error().ToString().c_str());
      return 1;
    }
    // A copy of exact size, so that a sanitizer sees the first byte read beyond.
    const std::vector<std::uint8_t> exact(bytes->begin(), bytes->end());
    std::printf("%s\n", input.c_str());
    std::fflush(stdout);  // the last line names the input of a crash
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
  }
  if (inputs.empty()) std::fprintf(stderr, "no corpus at %s\n", argc > 1 ? argv[1] : "(nothing)");
  return inputs.empty() ? 1 : 0;
}
