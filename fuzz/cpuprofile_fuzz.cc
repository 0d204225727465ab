// .cpuprofile.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "profile_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  culprit::CheckProfile(culprit::profile::ReadCpuProfile(bytes));
  return 0;
}
