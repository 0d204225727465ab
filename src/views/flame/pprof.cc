// The call tree as pprof's profile.proto, compressed with gzip: a location a frame, labels for the
// thread and its process, which pprof's -tagfocus and -tagroot take.
#include <zlib.h>

#include <protozero/pbf_writer.hpp>

#include <map>
#include <unordered_map>

#include "base/check.h"
#include "views/flame/flame_view.h"
#include "views/flame/markup.h"

namespace culprit::views {
namespace {

class PprofWriter {
 public:
  explicit PprofWriter(const FlameView& view) : view_(view) { static_cast<void>(Text("")); }

  std::string Write() {
    const profile::Metric& metric = view_.metric();
    WriteValueType(1, "samples", "count");
    WriteValueType(1, metric.name, UnitName(metric));
    for (const auto& leaf : view_.tree.leaves) WriteSample(leaf);
    WriteMappings();
    WriteLocations();
    WriteValueType(11, metric.name, UnitName(metric));
    out_.add_int64(12, 1);
    // pprof shows the last type unless told otherwise; said all the same.
    out_.add_int64(14, Text(metric.name));
    for (const auto& [text, index] : order_) {
      static_cast<void>(index);
      out_.add_string(6, text);
    }
    return std::move(bytes_);
  }

 private:
  static std::string UnitName(const profile::Metric& metric) {
    if (metric.unit == "ns") return "nanoseconds";
    return metric.unit == "bytes" ? "bytes" : "count";
  }

  std::int64_t Text(std::string_view text) {
    const auto [entry, added] =
        texts_.try_emplace(PlainText(text), static_cast<std::int64_t>(order_.size()));
    if (added) order_.emplace_back(entry->first, entry->second);
    return entry->second;
  }

  void WriteValueType(protozero::pbf_tag_type field, std::string_view type, std::string_view unit) {
    const std::int64_t type_index = Text(type);
    const std::int64_t unit_index = Text(unit);
    protozero::pbf_writer message(out_, field);
    message.add_int64(1, type_index);
    message.add_int64(2, unit_index);
  }

  void WriteLabel(protozero::pbf_writer& sample, std::string_view key, std::string_view text,
                  std::int64_t number) {
    const std::int64_t key_index = Text(key);
    const std::int64_t text_index = text.empty() ? 0 : Text(text);
    protozero::pbf_writer label(sample, 3);
    label.add_int64(1, key_index);
    if (text_index != 0) {
      label.add_int64(2, text_index);
    } else {
      label.add_int64(3, number);
    }
  }

  void WriteSample(const profile::CallTree::Leaf& leaf) {
    std::vector<std::uint64_t> locations;  // innermost first; location ids begin at 1
    for (std::uint32_t node = leaf.node; node != 0; node = view_.tree.nodes[node].parent) {
      const auto frame = view_.tree.nodes[node].frame;
      if (view_.profile.frames[frame].kind == profile::FrameKind::kGroup) continue;
      locations.push_back(LocationOf(frame));
    }
    const std::int64_t values[] = {static_cast<std::int64_t>(leaf.samples), leaf.weight};
    protozero::pbf_writer sample(out_, 2);
    sample.add_packed_uint64(1, locations.begin(), locations.end());
    sample.add_packed_int64(2, std::begin(values), std::end(values));
    const profile::Thread& thread = view_.profile.threads[leaf.thread];
    const auto comm = view_.profile.strings.Get(thread.comm);
    const auto process = view_.profile.strings.Get(thread.process);
    if (!comm.empty()) WriteLabel(sample, "thread", comm, 0);
    if (!process.empty()) WriteLabel(sample, "process", process, 0);
    if (thread.pid >= 0) WriteLabel(sample, "pid", "", thread.pid);
    if (thread.tid >= 0) WriteLabel(sample, "tid", "", thread.tid);
  }

  std::uint64_t LocationOf(profile::FrameId frame) {
    const auto [entry, added] = locations_.try_emplace(frame, locations_.size() + 1);
    static_cast<void>(added);
    return entry->second;
  }

  // A mapping a module, so that pprof shows it; addresses are not known and stay zero.
  void WriteMappings() {
    for (const auto& [frame, id] : locations_) {
      const auto module = view_.profile.frames[frame].module;
      if (module != 0) mappings_.try_emplace(module, 0);
    }
    std::uint64_t next = 1;
    for (auto& [module, id] : mappings_) {
      id = next++;
      const std::int64_t name = Text(view_.profile.strings.Get(module));
      protozero::pbf_writer mapping(out_, 3);
      mapping.add_uint64(1, id);
      mapping.add_int64(5, name);
      mapping.add_bool(7, true);  // names are all there
    }
  }

  void WriteLocations() {
    const std::map<std::uint64_t, profile::FrameId> by_id = [this] {
      std::map<std::uint64_t, profile::FrameId> sorted;
      for (const auto& [frame, id] : locations_) sorted.emplace(id, frame);
      return sorted;
    }();
    for (const auto& [id, frame] : by_id) {
      const auto module = view_.profile.frames[frame].module;
      {
        protozero::pbf_writer location(out_, 4);
        location.add_uint64(1, id);
        if (module != 0) location.add_uint64(2, mappings_[module]);
        protozero::pbf_writer line(location, 4);
        line.add_uint64(1, id);
      }
      const std::int64_t name = Text(view_.profile.name(frame));
      protozero::pbf_writer function(out_, 5);
      function.add_uint64(1, id);
      function.add_int64(2, name);
      function.add_int64(3, name);
    }
  }

  const FlameView& view_;
  std::string bytes_;
  protozero::pbf_writer out_{bytes_};
  std::unordered_map<std::string, std::int64_t> texts_;
  std::vector<std::pair<std::string, std::int64_t>> order_;
  std::unordered_map<profile::FrameId, std::uint64_t> locations_;
  std::map<profile::StringId, std::uint64_t> mappings_;
};

std::string Gzip(std::string_view bytes) {
  z_stream stream{};
  constexpr int kGzipWindow = 15 + 16;
  CULPRIT_CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8,
                             Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(
      const_cast<char*>(bytes.data()));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CULPRIT_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

std::string FlamePprof(const FlameView& view) { return Gzip(PprofWriter(view).Write()); }

}  // namespace culprit::views
