#include "health/tune/apply.h"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "health/tune/drop_in_files.h"
#include "health/tune/value_writer.h"

namespace culprit::tune {
namespace {

constexpr std::string_view kProcSys = "/proc/sys/";

struct Pair {
  std::string_view one;
  std::string_view other;
};
constexpr Pair kPairs[] = {{"vm.dirty_bytes", "vm.dirty_ratio"},
                           {"vm.dirty_background_bytes", "vm.dirty_background_ratio"},
                           {"vm.overcommit_kbytes", "vm.overcommit_ratio"}};

std::string Now() {
  const time_t now = time(nullptr);
  struct tm parts {};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

struct Planned {
  std::size_t step = 0;  // in the report
  JournalEntry entry;
  std::optional<JournalEntry> before;  // the journal's entry until now
};

// A warning when something else would decide the key at the next boot all the same.
std::string BootConflict(const Settings& settings, const Step& step, Place place) {
  SettingTarget target;
  target.key = step.key;
  if (place == Place::kSysfs) target.path = step.path;
  if (const Knob* knob = FindKnob(step.key); knob != nullptr) {
    target.tuned_option = knob->tuned_option;
  }
  const auto found = settings.For(target);
  if (!found.empty() && !found.front().place.starts_with(DropInPath(place))) {
    return found.front().place + " sets it to " + OneLine(found.front().value) +
           " at the next boot all the same";
  }
  const auto other = PairedKey(step.key);
  if (other.empty()) return "";
  const auto& lines = settings.sysctl().lines();
  const auto last = [&](std::string_view key) {
    const std::string path = SysctlPath(key).value_or("");
    return std::ranges::find(lines.rbegin(), lines.rend(), path, &ConfigLine::path);
  };
  // In reverse: an iterator that is nearer to rbegin is applied later.
  if (last(other) < last(step.key)) {
    return last(other)->Place() + " sets " + std::string(other) +
           ", which zeroes it at the next boot";
  }
  return "";
}

class Applier {
 public:
  Applier(const RootFiles& files, Journal journal, ChangeReport& report)
      : files_(files), journal_(std::move(journal)), report_(report) {}

  void Plan(const AuditItem& item, const KnobFile& file, const DropIn& drop_in) {
    Step step{item.key, file.path, "", item.advice.value, StepOutcome::kDone, ""};
    const auto now = ReadValue(files_, item.place, file.path);
    if (!now) {
      step.outcome = StepOutcome::kFailed;
      step.reason = "it cannot be read";
    } else {
      step.from = *now;
      // What is better than asked for stays: only the drop-in is written, so that it stays so.
      if (!item.advice.satisfied && Meets(*now, item.advice.relation, item.advice.value)) {
        step.to = *now;
      }
      step.reason = WhyNotWritable(files_, file.path);
      if (!step.reason.empty()) step.outcome = StepOutcome::kFailed;
      if (step.outcome == StepOutcome::kDone && SafeForTerminal(*now) != *now) {
        step.outcome = StepOutcome::kRefused;
        step.reason = "the present value is not plain text";
      }
    }
    report_.steps.push_back(step);
    if (step.outcome != StepOutcome::kDone) return;
    planned_.push_back({report_.steps.size() - 1, MakeEntry(item, step, drop_in), std::nullopt});
    if (const JournalEntry* known = journal_.Find(file.path)) planned_.back().before = *known;
  }

  // The old values, on disk before anything is written.
  Status WriteIntent() {
    for (const Planned& planned : planned_) journal_.Put(planned.entry);
    return planned_.empty() ? Status() : journal_.Write(files_);
  }

  void WriteValues() {
    for (const Planned& planned : planned_) {
      Step& step = report_.steps[planned.step];
      const JournalEntry& entry = planned.entry;
      const auto now = ReadValue(files_, entry.place, entry.path);
      if (now && SameValue(*now, step.to)) continue;
      step.reason = WriteAndCheck(files_, entry.place, entry.path, step.to);
      if (step.reason.empty()) continue;
      step.outcome = StepOutcome::kFailed;
      const auto after = ReadValue(files_, entry.place, entry.path);
      if (after && !SameValue(*after, step.from)) {
        JournalEntry undo = entry;
        undo.old_value = step.from;
        const std::string failed = RestoreValue(files_, undo);
        if (!failed.empty()) {
          step.reason += "; putting the old value back failed too: " + failed;
          continue;  // the journal keeps its entry
        }
      }
      journal_.Remove(entry.path);
      if (planned.before) journal_.Put(*planned.before);
    }
  }

  void KeepOverReboot(DropIns& drop_ins) {
    for (const Planned& planned : planned_) {
      const Step& step = report_.steps[planned.step];
      if (step.outcome != StepOutcome::kDone) continue;
      drop_ins.at(planned.entry.place).Set(DropInName(planned.entry.place, step.path), step.to);
    }
    KeepDropIns(files_, drop_ins, report_);
  }

  // The journal as things now stand.
  Status Finish() {
    for (const Planned& planned : planned_) {
      if (JournalEntry* entry = journal_.Find(planned.entry.path);
          entry != nullptr && report_.steps[planned.step].outcome == StepOutcome::kDone) {
        entry->wrote_before.clear();
      }
    }
    return planned_.empty() ? Status() : journal_.Write(files_);
  }

  void Warn(const std::string& command_line) {
    const Settings settings = Settings::Read(files_, command_line);
    for (const Planned& planned : planned_) {
      Step& step = report_.steps[planned.step];
      if (step.outcome == StepOutcome::kDone) {
        step.reason = BootConflict(settings, step, planned.entry.place);
      }
    }
  }

 private:
  JournalEntry MakeEntry(const AuditItem& item, const Step& step, const DropIn& drop_in) const {
    JournalEntry entry;
    entry.key = item.key;
    entry.place = item.place;
    entry.path = step.path;
    entry.old_value = step.from;
    entry.wrote = step.to;
    entry.applied_at = Now();
    if (const auto other = PairedKey(item.key); !other.empty()) {
      const std::string path = std::string(kProcSys) + SysctlPath(other).value_or("");
      if (const auto value = ReadValue(files_, Place::kSysctl, path)) entry.pair = {path, *value};
    }
    const JournalEntry* known = journal_.Find(step.path);
    if (known == nullptr) {
      entry.old_drop_in = drop_in.Get(DropInName(item.place, step.path));
      return entry;
    }
    entry.old_drop_in = known->old_drop_in;
    // What is there now is tune's own writing, or what was before it: the first old value stays the
    // one to go back to. Anything else is somebody's decision, and that is gone back to.
    if (known->Wrote(step.from) || SameValue(known->old_value, step.from)) {
      entry.old_value = known->old_value;
      entry.pair = known->pair;
      entry.wrote_before = known->wrote_before;
      entry.wrote_before.push_back(known->wrote);
    }
    return entry;
  }

  const RootFiles& files_;
  Journal journal_;
  ChangeReport& report_;
  std::vector<Planned> planned_;
};

}  // namespace

std::string_view PairedKey(std::string_view key) {
  for (const Pair& pair : kPairs) {
    if (pair.one == key) return pair.other;
    if (pair.other == key) return pair.one;
  }
  return "";
}

std::string_view StepOutcomeName(StepOutcome outcome) {
  constexpr std::array<std::string_view, 4> kNames = {"done", "nothing", "refused", "failed"};
  return kNames[static_cast<std::size_t>(outcome)];
}

bool ChangeReport::ok() const {
  return std::ranges::all_of(steps, [](const Step& step) {
    return step.outcome == StepOutcome::kDone || step.outcome == StepOutcome::kNothing;
  });
}

Result<ChangeReport> Apply(const RootFiles& files, const std::vector<const AuditItem*>& items,
                           const ApplyOptions& options) {
  ChangeReport report;
  report.dry_run = options.dry_run;
  UniqueFd lock;
  if (!options.dry_run) {
    CULPRIT_ASSIGN(lock, LockState(files));
  }
  CULPRIT_ASSIGN(Journal journal, Journal::Read(files));
  CULPRIT_ASSIGN(DropIns drop_ins, ReadDropIns(files));
  Applier applier(files, std::move(journal), report);
  for (const AuditItem* item : items) {
    for (const KnobFile& file : item->files) {
      applier.Plan(*item, file, drop_ins.at(item->place));
    }
  }
  if (options.dry_run) return report;
  CULPRIT_TRY(applier.WriteIntent());
  applier.WriteValues();
  applier.KeepOverReboot(drop_ins);
  if (const Status status = applier.Finish(); !status.ok()) {
    report.steps.push_back(
        {"", kJournalPath, "", "", StepOutcome::kFailed, status.error().ToString()});
  }
  applier.Warn(OneLine(files.Read("/proc/cmdline").text));
  return report;
}

}  // namespace culprit::tune
