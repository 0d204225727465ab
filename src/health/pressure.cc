#include "health/pressure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace culprit::health {

std::optional<PressureShare> PressureNow(const Context& context, std::string_view path, bool full) {
  kernel::Pressure before, after;
  if (!kernel::ParsePressure(context.after.texts.Get(path), after)) return std::nullopt;
  const auto& now = full ? after.full : after.some;
  if (!now) return std::nullopt;
  PressureShare share{
      .avg10_pct = now->avg10_pct, .avg60_pct = now->avg60_pct, .avg300_pct = now->avg300_pct};
  share.now_pct = now->avg10_pct;
  kernel::ParsePressure(context.before.texts.Get(path), before);
  const auto& old = full ? before.full : before.some;
  if (context.two && context.seconds > 0 && old) {
    const auto delta = Delta(old->total_us, now->total_us);
    if (delta) share.now_pct = std::min(100.0, 100 * *delta / 1e6 / context.seconds);
  }
  share.judged_pct = std::min(share.now_pct, std::max(share.avg10_pct, share.avg60_pct));
  return share;
}

void MeasurePressure(const Context& context, Readings& out, std::string_view path, bool full) {
  const Text* text = context.after.texts.Find(path);
  // With PSI off the file is there and its read is refused (EOPNOTSUPP), or it is not there.
  if (text == nullptr || text->error_number == ENOENT || text->error_number == EOPNOTSUPP ||
      (text->error_number == 0 && text->text.empty())) {
    out.Unknown(text == nullptr || text->error_number == ENOENT
                    ? "this kernel has no pressure stall information (CONFIG_PSI)"
                    : "pressure stall information is off: boot with psi=1");
    return;
  }
  if (text->error_number != 0) {
    out.Unknown(context.after.texts.Reason(path), context.after.texts.Denied(path));
    return;
  }
  const auto share = PressureNow(context, path, full);
  if (!share) {
    out.Unknown(std::string(path) + " cannot be understood");
    return;
  }
  Reading& reading = out.Value("", share->judged_pct);
  reading.evidence.push_back(
      fmt::format("{} now {:.1f} %; average of 10 s {:.1f} %, 60 s {:.1f} %, 300 s {:.1f} %",
                  full ? "full" : "some", share->now_pct, share->avg10_pct, share->avg60_pct,
                  share->avg300_pct));
  const auto groups = context.after.cgroup_pressure.find(path.substr(path.rfind('/') + 1));
  if (groups == context.after.cgroup_pressure.end()) return;
  for (const CgroupPressure& group : groups->second)
    reading.evidence.push_back(fmt::format("of cgroup {}: {} {:.1f} % of the last 10 s", group.path,
                                           full ? "full" : "some", group.avg10_pct));
}

}  // namespace culprit::health
