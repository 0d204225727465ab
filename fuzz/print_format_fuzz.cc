// A format text, and fields to print with it. Nothing may crash, hang or recurse without end.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "query/print_format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using culprit::query::PrintField;
  using culprit::query::PrintFormat;
  const auto format = PrintFormat::Parse({reinterpret_cast<const char*>(data), size});
  if (!format.ok()) return 0;
  const std::vector<PrintField> fields = {{"a", "", -1, false},
                                          {"b", "text", 0, true},
                                          {"dev", "", 0x10300, false},
                                          {"args[0]", "", INT64_MAX, false}};
  std::string out;
  format->Print(fields, out);
  return 0;
}
