#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "health/tune/apply.h"
#include "health/tune/drop_in_files.h"
#include "health/tune/value_writer.h"

namespace culprit::tune {
namespace {

// Decides what to do with one entry; fills the step's outcome and reason.
void PlanRestore(const RootFiles& files, const JournalEntry& entry, const DropIn& drop_in,
                 bool force, Step& step) {
  const FileText text = files.Read(entry.path);
  if (text.absent()) {
    step.outcome = StepOutcome::kDone;
    step.to.clear();
    step.reason = "no longer here: only its line goes";
    return;
  }
  if (!text.ok()) {
    step.outcome = StepOutcome::kFailed;
    step.reason = ErrnoError("read", entry.path, text.error_number).ToString();
    return;
  }
  step.from = ShownValue(entry.place, text.text);
  const bool was_old = SameValue(step.from, entry.old_value);
  if (!was_old && !entry.Wrote(step.from) && !force) {
    step.outcome = StepOutcome::kRefused;
    step.reason = fmt::format(
        "changed by somebody since: it is {}, tune wrote {}; --force restores {} all the same",
        step.from, entry.wrote, entry.old_value);
    return;
  }
  const auto kept = drop_in.Get(DropInName(entry.place, entry.path));
  if (kept && !entry.Wrote(*kept) && kept != entry.old_drop_in && !force) {
    step.outcome = StepOutcome::kRefused;
    step.reason = fmt::format(
        "its line in {} was changed by somebody since, to {}; --force takes it "
        "out all the same",
        DropInPath(entry.place), *kept);
    return;
  }
  if (was_old) return;
  step.reason = WhyNotWritable(files, entry.path);
  if (!step.reason.empty()) step.outcome = StepOutcome::kFailed;
}

}  // namespace

Result<ChangeReport> Rollback(const RootFiles& files, const RollbackOptions& options) {
  ChangeReport report;
  report.dry_run = options.dry_run;
  UniqueFd lock;
  if (!options.dry_run && files.Exists(kJournalPath)) {
    CULPRIT_ASSIGN(lock, LockState(files));
  }
  CULPRIT_ASSIGN(Journal journal, Journal::Read(files));
  CULPRIT_ASSIGN(DropIns drop_ins, ReadDropIns(files));
  for (const std::string& key : options.keys) {
    if (std::ranges::find(journal.entries(), key, &JournalEntry::key) == journal.entries().end()) {
      return Error{"the journal " + files.Shown(kJournalPath) + " has no " + SafeForTerminal(key),
                   "culprit tune rollback --dry-run lists what it has"};
    }
  }
  std::vector<std::pair<JournalEntry, std::size_t>> planned;  // with its step
  for (const JournalEntry& entry : journal.entries()) {
    if (!options.keys.empty() && std::ranges::find(options.keys, entry.key) == options.keys.end()) {
      continue;
    }
    Step step{entry.key, entry.path, "", entry.old_value, StepOutcome::kDone, ""};
    PlanRestore(files, entry, drop_ins.at(entry.place), options.force, step);
    if (step.outcome == StepOutcome::kDone) planned.emplace_back(entry, report.steps.size());
    report.steps.push_back(std::move(step));
  }
  if (options.dry_run || planned.empty()) return report;

  // In the order in which they were applied, and what failed once more at the end: a CPU's energy
  // preference cannot be written before its governor is back.
  for (const bool again : {false, true}) {
    for (const auto& [entry, index] : planned) {
      Step& step = report.steps[index];
      const auto now = ReadValue(files, entry.place, entry.path);
      if (again != (step.outcome == StepOutcome::kFailed)) continue;
      if (!now) continue;  // no longer here
      const bool is_old = SameValue(*now, entry.old_value);
      const std::string reason = is_old ? "" : RestoreValue(files, entry);
      step.outcome = reason.empty() ? StepOutcome::kDone : StepOutcome::kFailed;
      step.reason = reason;
    }
  }
  for (const auto& [entry, index] : planned) {
    if (report.steps[index].outcome != StepOutcome::kDone) continue;
    drop_ins.at(entry.place).Set(DropInName(entry.place, entry.path), entry.old_drop_in);
  }
  const auto steps_before = report.steps.size();
  KeepDropIns(files, drop_ins, report);
  if (report.steps.size() != steps_before)
    return report;  // the journal stays as long as a line does
  for (const auto& [entry, index] : planned) {
    if (report.steps[index].outcome == StepOutcome::kDone) journal.Remove(entry.path);
  }
  if (const Status status = journal.Write(files); !status.ok()) {
    report.steps.push_back(
        {"", kJournalPath, "", "", StepOutcome::kFailed, status.error().ToString()});
  }
  return report;
}

}  // namespace culprit::tune
