// A whole load without tables: both formats, all state machines.
#include <cstdint>
#include <string_view>

#include "load/ftrace_text/text_pass.h"
#include "load/importer.h"
#include "load/packet_importer.h"
#include "load/perfetto_pass.h"
#include "load/sinks.h"
#include "load/trace_index.h"
#include "tracefile/trace_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culprit;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto file = tracefile::TraceFile::OfBytes(bytes);
  if (!file.ok()) return 0;
  load::StringPool strings;
  load::NoSinks sinks;
  load::Importer importer(strings, sinks.Refs());
  if (file->format() == tracefile::TraceFormat::kFtraceText) {
    load::ftrace_text::TextPass pass(file->bytes(), importer);
    pass.Run(nullptr, [](std::uint64_t) { return true; });
  } else {
    const load::TraceIndex index = load::IndexTrace(*file, importer.stats());
    importer.threads().UseIdleThread();
    importer.SetTaskStates(tracefile::TaskStates::FromRelease(index.kernel_release));
    importer.SetAllCpusFrom(index.all_cpus_from);
    load::PacketImporter packets(index, importer);
    packets.Untimed();
    load::PerfettoPass pass(index, importer, packets, nullptr, 0);
    pass.Run([](std::uint64_t, std::uint64_t) { return true; });
  }
  importer.Finish();
  return 0;
}
