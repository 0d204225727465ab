// pprof's profile.proto (google/pprof): samples of location ids, innermost first; a location has
// one line for each function that is inlined there, the innermost first.
#include <fmt/format.h>

#include <protozero/pbf_reader.hpp>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "profile/kind_table.h"
#include "profile/names.h"
#include "profile/read.h"

namespace culprit::profile {
namespace {

constexpr std::size_t kMostSampleTypes = 64;
constexpr std::size_t kDeepest = 100'000;

// protozero trusts its caller in what kind of field comes next; a file may say anything.
protozero::data_view ViewOf(protozero::pbf_reader& message) {
  if (message.wire_type() == protozero::pbf_wire_type::length_delimited) return message.get_view();
  message.skip();
  return {};
}

std::uint64_t NumberOf(protozero::pbf_reader& message) {
  if (message.wire_type() == protozero::pbf_wire_type::varint) return message.get_uint64();
  message.skip();
  return 0;
}

struct Location {
  std::uint64_t mapping = 0;
  std::uint64_t address = 0;
  std::vector<std::uint64_t> functions;  // innermost first
};

struct MappingRow {
  std::uint64_t begin = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t filename = 0;  // index of a string
};

class Decoder {
 public:
  explicit Decoder(const ReadOptions& options) : options_(options) { profile_.format = "pprof"; }

  // Strings and tables stand behind the samples in many files, so samples are read last.
  Result<Profile> Read(std::string_view bytes) {
    protozero::pbf_reader message(bytes.data(), bytes.size());
    std::vector<protozero::data_view> samples;
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          sample_types_.push_back(ReadPair(ViewOf(message)));
          break;
        case 2:
          samples.push_back(ViewOf(message));
          break;
        case 3:
          AddMapping(ViewOf(message));
          break;
        case 4:
          AddLocation(ViewOf(message));
          break;
        case 5:
          AddFunction(ViewOf(message));
          break;
        case 6:
          strings_.push_back(TextOf(ViewOf(message)));
          break;
        default:
          message.skip();
      }
    }
    if (sample_types_.empty()) return Error{"a pprof file without sample types", "it is damaged"};
    if (sample_types_.size() > kMostSampleTypes) {
      return Error{"a pprof file with too many sample types", "it is damaged"};
    }
    for (const auto& [type, unit] : sample_types_) AddMetric(Text(type), Text(unit));
    for (const auto& sample : samples) AddSample(sample);
    if (wrong_ > 0) {
      profile_.notes.push_back(
          {FormatCount(wrong_) + " samples name locations that do not exist", true});
    }
    return std::move(profile_);
  }

 private:
  static std::string_view TextOf(protozero::data_view view) { return {view.data(), view.size()}; }
  std::string_view Text(std::uint64_t index) const {
    return index < strings_.size() ? strings_[index] : std::string_view();
  }

  static std::pair<std::uint64_t, std::uint64_t> ReadPair(protozero::data_view view) {
    protozero::pbf_reader message(view);
    std::pair<std::uint64_t, std::uint64_t> pair;
    while (message.next()) {
      if (message.tag() == 1) {
        pair.first = NumberOf(message);
      } else if (message.tag() == 2) {
        pair.second = NumberOf(message);
      } else {
        message.skip();
      }
    }
    return pair;
  }

  void AddMetric(std::string_view type, std::string_view unit) {
    std::int64_t factor = 1;
    if (unit == "nanoseconds") unit = "ns";
    if (unit == "microseconds") {
      unit = "ns";
      factor = 1000;
    } else if (unit == "milliseconds") {
      unit = "ns";
      factor = 1'000'000;
    } else if (unit == "seconds") {
      unit = "ns";
      factor = 1'000'000'000;
    } else if (unit == "count") {
      unit = type;
    }
    // Two columns of one name stay two metrics.
    std::string name(type);
    for (int copy = 2;
         std::ranges::find(profile_.metrics, name, &Metric::name) != profile_.metrics.end();
         ++copy) {
      name = fmt::format("{}-{}", type, copy);
    }
    profile_.metrics.push_back({name, std::string(unit)});
    factors_.push_back(factor);
  }

  void AddMapping(protozero::data_view view) {
    protozero::pbf_reader message(view);
    std::uint64_t id = 0;
    MappingRow row;
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          id = NumberOf(message);
          break;
        case 2:
          row.begin = NumberOf(message);
          break;
        case 4:
          row.file_offset = NumberOf(message);
          break;
        case 5:
          row.filename = NumberOf(message);
          break;
        default:
          message.skip();
      }
    }
    mappings_[id] = row;
  }

  void AddLocation(protozero::data_view view) {
    protozero::pbf_reader message(view);
    std::uint64_t id = 0;
    Location location;
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          id = NumberOf(message);
          break;
        case 2:
          location.mapping = NumberOf(message);
          break;
        case 3:
          location.address = NumberOf(message);
          break;
        case 4:
          location.functions.push_back(ReadPair(ViewOf(message)).first);
          break;
        default:
          message.skip();
      }
    }
    locations_[id] = std::move(location);
  }

  void AddFunction(protozero::data_view view) {
    protozero::pbf_reader message(view);
    std::uint64_t id = 0;
    std::uint64_t name = 0;
    std::uint64_t system_name = 0;
    std::uint64_t filename = 0;
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          id = NumberOf(message);
          break;
        case 2:
          name = NumberOf(message);
          break;
        case 3:
          system_name = NumberOf(message);
          break;
        case 4:
          filename = NumberOf(message);
          break;
        default:
          message.skip();
      }
    }
    functions_[id] = {name != 0 ? name : system_name, filename};
  }

  void AddSample(protozero::data_view view) {
    protozero::pbf_reader message(view);
    std::vector<std::uint64_t> locations;
    std::vector<std::int64_t> values;
    Thread thread;
    while (message.next()) {
      const bool packed = message.wire_type() == protozero::pbf_wire_type::length_delimited;
      if (message.tag() == 1 && packed) {
        for (const auto id : message.get_packed_uint64()) locations.push_back(id);
      } else if (message.tag() == 1) {
        locations.push_back(NumberOf(message));
      } else if (message.tag() == 2 && packed) {
        for (const auto value : message.get_packed_int64()) values.push_back(value);
      } else if (message.tag() == 2) {
        values.push_back(static_cast<std::int64_t>(NumberOf(message)));
      } else if (message.tag() == 3) {
        AddLabel(ViewOf(message), thread);
      } else {
        message.skip();
      }
      if (locations.size() > kDeepest) break;
    }
    std::ranges::reverse(locations);
    StackId stack = 0;
    for (const auto id : locations) {
      for (const FrameId frame : FramesOf(id)) stack = profile_.InternStack(stack, frame);
    }
    const ThreadId thread_id = ThreadOf(thread);
    for (std::size_t i = 0; i < std::min(values.size(), profile_.metrics.size()); ++i) {
      if (values[i] <= 0 || values[i] > INT64_MAX / 4 / factors_[i] / 1024) continue;
      profile_.samples.push_back({.weight = values[i] * factors_[i],
                                  .stack = stack,
                                  .thread = thread_id,
                                  .metric = static_cast<std::uint16_t>(i)});
    }
  }

  // Labels that say which thread it was; each language has its own.
  void AddLabel(protozero::data_view view, Thread& thread) {
    protozero::pbf_reader message(view);
    std::string_view key;
    std::string_view text;
    std::int64_t number = -1;
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          key = Text(NumberOf(message));
          break;
        case 2:
          text = Text(NumberOf(message));
          break;
        case 3:
          number = static_cast<std::int64_t>(NumberOf(message));
          break;
        default:
          message.skip();
      }
    }
    const auto id = number >= 0 && number <= INT32_MAX
                        ? static_cast<std::int32_t>(number)
                        : ParseInteger<std::int32_t>(text).value_or(-1);
    if (key == "thread" || key == "thread name" || key == "thread_name" || key == "comm") {
      thread.comm = profile_.strings.Intern(text);
    } else if (key == "process" || key == "process_name") {
      thread.process = profile_.strings.Intern(text);
    } else if (key == "pid" || key == "process id") {
      thread.pid = id;
    } else if (key == "tid" || key == "thread id" || key == "thread_id") {
      thread.tid = id;
    } else {
      return;
    }
    profile_.has_threads = true;
  }

  ThreadId ThreadOf(const Thread& thread) {
    for (ThreadId id = 0; id < profile_.threads.size(); ++id) {
      const Thread& known = profile_.threads[id];
      if (known.comm == thread.comm && known.process == thread.process && known.pid == thread.pid &&
          known.tid == thread.tid) {
        return id;
      }
    }
    return profile_.AddThread(thread);
  }

  // Outermost first.
  const std::vector<FrameId>& FramesOf(std::uint64_t id) {
    const auto [entry, added] = frames_.try_emplace(id);
    if (!added) return entry->second;
    const auto found = locations_.find(id);
    if (found == locations_.end()) {
      ++wrong_;
      return entry->second;
    }
    const Location& location = found->second;
    const auto mapping = mappings_.find(location.mapping);
    const bool mapped = mapping != mappings_.end();
    const std::string_view module = mapped ? Text(mapping->second.filename) : std::string_view();
    for (std::size_t i = location.functions.size(); i-- > 0;) {
      const auto function = functions_.find(location.functions[i]);
      const std::string_view name =
          function == functions_.end() ? std::string_view() : Text(function->second.first);
      const std::string_view file =
          function == functions_.end() ? std::string_view() : Text(function->second.second);
      if (name.empty()) continue;
      const bool inlined = i + 1 < location.functions.size();
      const FrameKind kind = inlined                 ? FrameKind::kInlined
                             : file.ends_with(".py") ? FrameKind::kPython
                                                     : KindOf(name, module);
      entry->second.push_back(
          profile_.InternFrame(ShownName(name, options_), module.empty() ? file : module, kind));
    }
    if (entry->second.empty()) {
      const auto offset = mapped && location.address >= mapping->second.begin
                              ? std::optional(location.address - mapping->second.begin +
                                              mapping->second.file_offset)
                              : std::nullopt;
      entry->second.push_back(
          profile_.InternFrame(UnknownName(module, location.address, offset, options_.unknown),
                               module, FrameKind::kUnknown));
    }
    return entry->second;
  }

  const ReadOptions& options_;
  Profile profile_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> sample_types_;
  std::vector<std::int64_t> factors_;  // to ns, beside the metrics
  std::vector<std::string_view> strings_;
  std::unordered_map<std::uint64_t, MappingRow> mappings_;
  std::unordered_map<std::uint64_t, Location> locations_;
  std::unordered_map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> functions_;
  std::unordered_map<std::uint64_t, std::vector<FrameId>> frames_;
  std::size_t wrong_ = 0;
};

}  // namespace

Result<Profile> ReadPprof(std::string_view bytes, const ReadOptions& options) {
  try {
    return Decoder(options).Read(bytes);
  } catch (const protozero::exception& failure) {
    return Error{std::string("the pprof data is damaged: ") + failure.what(), ""};
  }
}

}  // namespace culprit::profile
