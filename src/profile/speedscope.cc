// speedscope's own JSON (file-format-schema.json): shared frames, and profiles that are either
// samples with weights or opening and closing events.
#include "profile/json_text.h"

#include <cmath>

#include "base/text.h"
#include "profile/kind_table.h"
#include "profile/names.h"
#include "profile/read.h"

namespace culprit::profile {
namespace {

constexpr double kLargestWeight = 1e15;

struct Unit {
  std::string_view name;
  std::string_view shown;
  double factor;
};
constexpr Unit kUnits[] = {
    {"nanoseconds", "ns", 1}, {"microseconds", "ns", 1e3}, {"milliseconds", "ns", 1e6},
    {"seconds", "ns", 1e9},   {"bytes", "bytes", 1},       {"none", "samples", 1},
};

class Decoder {
 public:
  explicit Decoder(const ReadOptions& options) : options_(options) {
    profile_.format = "speedscope";
  }

  Result<Profile> Read(simdjson::dom::element root) {
    const auto shared = Member(root, "shared");
    const auto frames = shared ? ArrayMember(*shared, "frames") : std::nullopt;
    const auto profiles = ArrayMember(root, "profiles");
    if (!frames || !profiles) {
      return Error{"JSON without speedscope's shared.frames and profiles", ""};
    }
    for (const auto frame : *frames) {
      const std::string_view name = TextMember(frame, "name");
      const std::string_view file = TextMember(frame, "file");
      const auto annotated = AnnotatedKind(name);
      const FrameKind kind = annotated               ? *annotated
                             : file.ends_with(".py") ? FrameKind::kPython
                                                     : KindOf(name, file);
      frames_.push_back(profile_.InternFrame(
          name.empty() ? std::string("[unknown]") : symbols::Demangle(name, options_.names), file,
          kind));
    }
    for (const auto profile : *profiles) AddProfile(profile);
    if (wrong_ > 0) {
      profile_.notes.push_back({FormatCount(wrong_) +
                                    " samples or events name frames that do not exist or do not "
                                    "close what was opened",
                                true});
    }
    return std::move(profile_);
  }

 private:
  void AddProfile(simdjson::dom::element profile) {
    const std::string_view unit_name = TextMember(profile, "unit");
    const Unit* unit = &kUnits[5];
    for (const Unit& known : kUnits) {
      if (known.name == unit_name) unit = &known;
    }
    factor_ = unit->factor;
    metric_ =
        profile_.InternMetric(unit->shown == "ns" ? "time" : unit->shown, unit->shown).value_or(0);
    const std::string_view name = TextMember(profile, "name");
    profile_.has_threads |= !name.empty();
    thread_ = profile_.AddThread({.comm = profile_.strings.Intern(name)});
    if (TextMember(profile, "type") == "evented") {
      AddEvents(profile);
    } else {
      AddSamples(profile);
    }
  }

  void AddSamples(simdjson::dom::element profile) {
    const auto samples = ArrayMember(profile, "samples");
    if (!samples) return;
    const auto weights = ArrayMember(profile, "weights");
    // simdjson's arrays are not indexed in constant time, so both are walked together.
    simdjson::dom::array none;
    auto weight = weights ? weights->begin() : none.begin();
    const auto end = weights ? weights->end() : none.begin();
    for (const auto sample : *samples) {
      double value = 1;
      if (weights) {
        if (!(weight != end)) break;
        value = NumberOf(*weight).value_or(0);
        ++weight;
      }
      simdjson::dom::array stack;
      if (sample.get(stack) != simdjson::SUCCESS) {
        ++wrong_;
        continue;
      }
      StackId id = 0;
      for (const auto index : stack) {
        const auto frame = FrameOf(index);
        if (frame) id = profile_.InternStack(id, *frame);
      }
      Add(id, value);
    }
  }

  std::optional<FrameId> FrameOf(simdjson::dom::element index) {
    std::uint64_t number = 0;
    if (index.get(number) != simdjson::SUCCESS || number >= frames_.size()) {
      ++wrong_;
      return std::nullopt;
    }
    return frames_[number];
  }

  void AddEvents(simdjson::dom::element profile) {
    const auto events = ArrayMember(profile, "events");
    if (!events) return;
    std::vector<StackId> open;
    double since = NumberMember(profile, "startValue").value_or(0);
    for (const auto event : *events) {
      const double at = NumberMember(event, "at").value_or(since);
      const std::string_view type = TextMember(event, "type");
      const auto index = Member(event, "frame");
      const auto frame = index ? FrameOf(*index) : std::nullopt;
      if (!open.empty()) Add(open.back(), at - since);
      since = at;
      if (!frame) continue;
      if (type == "O") {
        open.push_back(profile_.InternStack(open.empty() ? 0 : open.back(), *frame));
      } else if (open.empty() || profile_.stacks[open.back()].frame != *frame) {
        ++wrong_;
      } else {
        open.pop_back();
      }
    }
    if (const auto end = NumberMember(profile, "endValue"); end && !open.empty()) {
      Add(open.back(), *end - since);
    }
  }

  void Add(StackId stack, double value) {
    value *= factor_;
    if (!(value > 0) || value > kLargestWeight) return;
    profile_.samples.push_back({.weight = static_cast<std::int64_t>(std::llround(value)),
                                .stack = stack,
                                .thread = thread_,
                                .metric = metric_});
  }

  const ReadOptions& options_;
  Profile profile_;
  std::vector<FrameId> frames_;
  double factor_ = 1;
  std::uint16_t metric_ = 0;
  ThreadId thread_ = 0;
  std::size_t wrong_ = 0;
};

}  // namespace

Result<Profile> ReadSpeedscope(std::string_view json, const ReadOptions& options) {
  simdjson::dom::parser parser;
  CULPRIT_ASSIGN(const auto root, ParseJson(parser, json));
  return Decoder(options).Read(root);
}

}  // namespace culprit::profile
