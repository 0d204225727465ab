// The decoder of ring-buffer pages: any bytes as a page, under the 64-bit and the 32-bit header.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "kernel/ring_page.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culprit::kernel;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  for (const PageLayout& layout :
       {PageLayout{}, PageLayout{.commit_bytes = 4, .data_offset = 12}}) {
    RingPage page(bytes, layout, RecordLayout{});
    RingRecord record;
    std::size_t count = 0;
    while (page.Next(record)) {
      CULPRIT_CHECK(++count <= size / 4);
      CULPRIT_CHECK(record.data.data() >= bytes.data());
      CULPRIT_CHECK(record.data.data() + record.data.size() <= bytes.data() + bytes.size());
    }
  }
  return 0;
}
