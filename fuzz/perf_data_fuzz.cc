// perf.data: header, records, compressed ones. Code is named by an empty root, so that no file of
// this machine matters.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "profile/perf_data/reader.h"
#include "profile_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  culprit::profile::ReadOptions options;
  options.root = "/proc/self/fdinfo";  // a folder that has no such files
  culprit::CheckProfile(culprit::profile::ReadPerfData(bytes, options));
  return 0;
}
