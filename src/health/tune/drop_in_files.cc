#include "health/tune/drop_in_files.h"

namespace culprit::tune {
namespace {

constexpr std::string_view kProcSys = "/proc/sys/";

// Writes a drop-in as it should be, or removes it when nothing is left in it; says so in the
// report.
void KeepDropIn(const RootFiles& files, Place place, const DropIn& drop_in, ChangeReport& report) {
  const std::string path = DropInPath(place);
  const FileText before = files.Read(path);
  if (drop_in.empty() && before.absent()) {
    static_cast<void>(files.RemoveFile(path));  // what a killed run may have left beside it
    return;
  }
  if (!drop_in.empty() && before.text == drop_in.Text()) return;
  const Status status =
      drop_in.empty() ? files.RemoveFile(path) : files.ReplaceFile(path, drop_in.Text(), 0644);
  const std::string shown = files.Shown(path);
  if (!status.ok()) {
    report.steps.push_back({.key = "",
                            .path = path,
                            .from = "",
                            .to = "",
                            .outcome = StepOutcome::kFailed,
                            .reason = status.error().ToString()});
    return;
  }
  report.files.push_back((drop_in.empty() ? "removed " : "wrote ") + shown);
}

}  // namespace

const char* DropInPath(Place place) {
  return place == Place::kSysfs ? kTmpfilesDropIn : kSysctlDropIn;
}

std::string DropInName(Place place, const std::string& path) {
  return place == Place::kSysfs ? path : path.substr(kProcSys.size());
}

Result<DropIns> ReadDropIns(const RootFiles& files) {
  DropIns drop_ins;
  for (const Place place : {Place::kSysctl, Place::kSysfs}) {
    const FileText text = files.Read(DropInPath(place));
    if (!text.ok() && !text.absent()) {
      return ErrnoError("read", files.Shown(DropInPath(place)), text.error_number);
    }
    drop_ins.emplace(place, DropIn(place, text.text));
  }
  return drop_ins;
}

void KeepDropIns(const RootFiles& files, const DropIns& drop_ins, ChangeReport& report) {
  for (const auto& [place, drop_in] : drop_ins) KeepDropIn(files, place, drop_in, report);
}

}  // namespace culprit::tune
