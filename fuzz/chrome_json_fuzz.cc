// The whole way of a Chrome trace: JSON of any shape into tables. Nothing may crash or hang.
#include <cstdint>
#include <string_view>

#include "load/chrome_json/json_pass.h"
#include "load/importer.h"
#include "load/sinks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culprit::load;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  StringPool strings;
  NoSinks sinks;
  RowSinks refs = sinks.Refs();
  NoSinks::Nowhere<SliceArgRow> args;
  refs.args = &args;
  Importer importer(strings, refs);
  chrome_json::JsonPass pass(text, importer);
  pass.Run([](std::uint64_t, std::uint64_t) { return true; });
  importer.Finish();
  return 0;
}
