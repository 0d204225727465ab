// The encoder over any pages: the input is a page of a CPU, read under the formats below, which
// have every kind of field. What comes out must be packets that a strict reader takes.
#include <cstddef>
#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>

#include "base/check.h"
#include "capture/encode_chunk.h"
#include "synthetic/synthetic_spool.h"
#include "tracefile/fields.h"

namespace {

using culprit::capture::EventFormatText;

EventFormatText Format(const char* group, const char* name, int id, const char* fields) {
  return {group, name,
          "name: " + std::string(name) + "\nID: " + std::to_string(id) +
              "\nformat:\n"
              "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
              "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
              "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" +
              fields + "\nprint fmt: \"\"\n"};
}

culprit::capture::FtraceSpool MakeSpool() {
  culprit::capture::FtraceSpool spool;
  spool.header_page = culprit::synthetic::HeaderPage(4096);
  spool.header_event = culprit::synthetic::HeaderEvent();
  spool.formats = {
      culprit::synthetic::SwitchFormat(),
      culprit::synthetic::WakingFormat(),
      Format("ftrace", "kernel_stack", 1,
             "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
             "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n"),
      Format("ftrace", "print", 2,
             "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
             "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n"),
      Format("block", "block_rq_insert", 3,
             "\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"
             "\tfield:char rwbs[8];\toffset:12;\tsize:8;\tsigned:0;\n"
             "\tfield:__data_loc char[] cmd;\toffset:20;\tsize:4;\tsigned:0;\n"),
      Format("raw_syscalls", "sys_enter", 4,
             "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
             "\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n"),
      Format("workqueue", "workqueue_execute_start", 5,
             "\tfield:void * work;\toffset:8;\tsize:8;\tsigned:0;\n"
             "\tfield:void * function;\toffset:16;\tsize:8;\tsigned:0;\n"),
      Format("any", "thing", 6,
             "\tfield:__rel_loc char[] text;\toffset:8;\tsize:4;\tsigned:0;\n"
             "\tfield:__data_loc u64[] list;\toffset:12;\tsize:4;\tsigned:0;\n"
             "\tfield:struct foo foo;\toffset:16;\tsize:12;\tsigned:0;\n"
             "\tfield:const char * fmt;\toffset:32;\tsize:8;\tsigned:0;\n"
             "\tfield:u16 rest[];\toffset:40;\tsize:0;\tsigned:0;\n"),
  };
  return spool;
}

// Every field of every message can be stepped over: lengths are right at each level that is known.
void Walk(protozero::pbf_reader message, int depth) {
  while (message.next()) {
    const bool is_message = message.wire_type() == protozero::pbf_wire_type::length_delimited;
    if (depth > 0 && is_message) {
      const auto inner = message.get_view();
      if (depth == 2 && message.tag() == culprit::tracefile::TracePacket::kFtraceEvents) {
        Walk(protozero::pbf_reader(inner), 1);
      } else if (depth == 1 && message.tag() == culprit::tracefile::FtraceEventBundle::kEvent) {
        Walk(protozero::pbf_reader(inner), 0);
      } else if (depth == 3) {
        Walk(protozero::pbf_reader(inner), 2);
      }
    } else {
      message.skip();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto* plan = new culprit::capture::EncodePlan(
      culprit::capture::EncodePlan::Make(MakeSpool(), true).value());
  culprit::capture::LazySymbols symbols("/nonexistent");
  const std::span<const std::byte> pages(reinterpret_cast<const std::byte*>(data), size);
  for (const std::size_t page_bytes : {std::size_t{4096}, std::size_t{256}}) {
    culprit::capture::BundleWriter writer(*plan, symbols, 0);
    const auto output = culprit::capture::EncodeChunk(*plan, writer, {0, pages, page_bytes, true});
    CULPRIT_CHECK(output.events <= size / 4);
    for (const auto& bundle : output.bundles) {
      CULPRIT_CHECK(bundle.packet.size() < 64 * size + 4096);
      Walk(protozero::pbf_reader(bundle.packet), 3);
    }
  }
  return 0;
}
