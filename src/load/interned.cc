#include "load/interned.h"

#include <utility>

#include "tracefile/fields.h"
#include "tracefile/proto_reader.h"

namespace culprit::load {

using tracefile::PackedVarints;
using tracefile::ProtoReader;

void AddInterned(std::string_view data, Interned& interned) {
  const auto text = [](std::string_view body, auto& into) {
    std::uint64_t iid = 0;
    std::string_view value;
    ProtoReader field(body);
    while (field.Next()) {
      if (field.id() == tracefile::InternedString::kIid) iid = field.u64();
      if (field.id() == tracefile::InternedString::kStr) value = field.bytes();
    }
    into[iid] = value;
  };
  ProtoReader field(data);
  while (field.Next()) {
    const std::string_view body = field.bytes();
    switch (field.id()) {
      case tracefile::InternedData::kKernelSymbols:
        text(body, interned.kernel_symbols);
        break;
      case tracefile::InternedData::kEventCategories:
        text(body, interned.event_categories);
        break;
      case tracefile::InternedData::kEventNames:
        text(body, interned.event_names);
        break;
      case tracefile::InternedData::kDebugAnnotationNames:
        text(body, interned.debug_names);
        break;
      case tracefile::InternedData::kDebugAnnotationStringValues:
        text(body, interned.debug_strings);
        break;
      case tracefile::InternedData::kFunctionNames:
        text(body, interned.function_names);
        break;
      case tracefile::InternedData::kMappingPaths:
        text(body, interned.mapping_paths);
        break;
      case tracefile::InternedData::kBuildIds:
        text(body, interned.build_ids);
        break;
      case tracefile::InternedData::kSourcePaths:
        text(body, interned.source_paths);
        break;
      case tracefile::InternedData::kFrames: {
        std::uint64_t iid = 0;
        Interned::Frame frame;
        ProtoReader part(body);
        while (part.Next()) {
          if (part.id() == tracefile::Frame::kIid) iid = part.u64();
          if (part.id() == tracefile::Frame::kFunctionNameId) frame.function_name = part.u64();
          if (part.id() == tracefile::Frame::kMappingId) frame.mapping = part.u64();
          if (part.id() == tracefile::Frame::kRelPc) frame.rel_pc = part.u64();
          if (part.id() == tracefile::Frame::kSourcePathIid) frame.source_path = part.u64();
          if (part.id() == tracefile::Frame::kLineNumber) frame.line = part.u32();
          if (part.id() == tracefile::Frame::kKind) frame.kind = part.u32();
        }
        interned.frames[iid] = frame;
        break;
      }
      case tracefile::InternedData::kMappings: {
        std::uint64_t iid = 0;
        Interned::Mapping mapping;
        ProtoReader part(body);
        while (part.Next()) {
          namespace Mapping = tracefile::Mapping;
          switch (part.id()) {
            case Mapping::kIid:
              iid = part.u64();
              break;
            case Mapping::kBuildId:
              mapping.build_id = part.u64();
              break;
            case Mapping::kExactOffset:
              mapping.exact_offset = part.u64();
              break;
            case Mapping::kStartOffset:
              mapping.start_offset = part.u64();
              break;
            case Mapping::kStart:
              mapping.start = part.u64();
              break;
            case Mapping::kEnd:
              mapping.end = part.u64();
              break;
            case Mapping::kLoadBias:
              mapping.load_bias = part.u64();
              break;
            case Mapping::kPathStringIds:
              mapping.path.push_back(part.u64());
              break;
            default:
              break;
          }
        }
        interned.mappings[iid] = std::move(mapping);
        break;
      }
      case tracefile::InternedData::kCallstacks: {
        std::uint64_t iid = 0;
        std::vector<std::uint64_t> frames;
        ProtoReader part(body);
        while (part.Next()) {
          if (part.id() == tracefile::Callstack::kIid) iid = part.u64();
          if (part.id() != tracefile::Callstack::kFrameIds) continue;
          if (part.is_bytes()) {
            PackedVarints packed(part.bytes());
            for (std::uint64_t frame; packed.Next(frame);) frames.push_back(frame);
          } else {
            frames.push_back(part.u64());
          }
        }
        interned.callstacks[iid] = std::move(frames);
        break;
      }
      default:
        break;
    }
  }
}

}  // namespace culprit::load
