#include "load/syscall_tracker.h"

#include <string>

#include "load/syscall_names.h"

namespace culprit::load {
namespace {

constexpr std::int64_t kMostNumbers = 4096;
constexpr std::string_view kArgKeys[] = {"args[0]", "args[1]", "args[2]",
                                         "args[3]", "args[4]", "args[5]"};

}  // namespace

void SyscallTracker::SetMachine(std::string_view machine) {
  names_ = SyscallNames(machine);
  ids_.clear();
}

// kNoString: no call, as -1 for one that a tracer has taken away.
StringId SyscallTracker::NameOf(std::int64_t number) {
  if (number < 0 || number >= kMostNumbers) return kNoString;
  const auto index = static_cast<std::size_t>(number);
  if (index >= ids_.size()) ids_.resize(index + 1, kNoString);
  if (ids_[index] == kNoString) {
    const bool is_named = index < names_.size() && !names_[index].empty();
    ids_[index] =
        strings_.Intern("sys_" + (is_named ? std::string(names_[index]) : std::to_string(number)));
  }
  return ids_[index];
}

void SyscallTracker::Enter(std::int64_t ts, TrackId track, std::int64_t number,
                           std::span<const std::uint64_t> arguments) {
  const StringId name = NameOf(number);
  if (name == kNoString) return;
  const std::uint32_t set = arguments.empty() ? kNone : args_.New();
  for (std::size_t i = 0; i < arguments.size() && i < std::size(kArgKeys); ++i) {
    args_.Int(set, kArgKeys[i], static_cast<std::int64_t>(arguments[i]), tables::ArgType::kUint);
  }
  // rt_sigreturn goes back to where the signal came in and has no exit.
  const std::string_view text = strings_.Text(name);
  if (text == "sys_rt_sigreturn") {
    slices_.Instant(ts, track, kNoString, name, set);
    return;
  }
  slices_.Begin(ts, track, kNoString, name, set);
  if (text == "sys_write") {
    if (track >= writing_.size()) writing_.resize(track + 1);
    writing_[track] = true;
  }
}

void SyscallTracker::Exit(std::int64_t ts, TrackId track, std::int64_t number,
                          std::optional<std::int64_t> ret) {
  const StringId name = NameOf(number);
  if (name == kNoString) return;
  if (track < writing_.size() && strings_.Text(name) == "sys_write") writing_[track] = false;
  const std::uint32_t new_set = ret.has_value() ? args_.New() : kNone;
  const SliceEnd end = slices_.End(ts, track, kNoString, name, new_set);
  if (end.row != kNone && ret.has_value()) args_.Int(end.arg_set_id, "ret", *ret);
}

void SyscallTracker::Marker(std::int64_t ts, TrackId track) {
  if (track >= writing_.size() || !writing_[track]) return;
  writing_[track] = false;
  stats_.Add("truncated_sys_write_duration");
  slices_.End(ts, track, kNoString, strings_.Intern("sys_write"));
}

}  // namespace culprit::load
