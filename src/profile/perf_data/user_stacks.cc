#include "profile/perf_data/user_stacks.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <optional>
#include <string_view>

#include "base/text.h"

namespace culprit::profile::perf_data {

bool UserStacks::IsOfThisMachine() const {
  utsname own{};
  return header_.machine.empty() ||
         (uname(&own) == 0 && header_.machine == std::string_view(own.machine));
}

std::vector<symbols::UnwoundFrame> UserStacks::Chain(
    const Event& event, const SampleFields& sample, std::span<const std::uint64_t> frame_pointers) {
  symbols::Unwound unwound;
  if (!sample.registers.empty() && !sample.stack.empty() && IsOfThisMachine()) {
    const auto find = [&](std::uint64_t address) -> std::optional<symbols::MappedFile> {
      const Mapping* mapping = spaces_.FindUser(sample.pid, address);
      if (mapping == nullptr) return std::nullopt;
      const Module& module = spaces_.modules()[mapping->module];
      if (module.path.starts_with("/tmp/perf-") && module.path.ends_with(".map")) {
        return symbols::MappedFile{mapping->begin, mapping->end, 0, "", ""};
      }
      symbols::MappedFile file{mapping->begin, mapping->end, mapping->file_offset, module.path,
                               module.build_id};
      if (const auto known = header_.build_ids.find(module.path);
          file.build_id.empty() && known != header_.build_ids.end()) {
        file.build_id = known->second;
      }
      return file;
    };
    unwound =
        unwinder_.Unwind(sample.pid, {event.user_registers, sample.registers, sample.stack}, find);
  }
  if (unwound.frames.empty()) {
    // Without a copy there is no user code: a kernel thread, or one that is about to exec.
    if (!sample.stack.empty()) ++unusable_;
  } else {
    ++unwound_;
    if (!unwound.is_complete) ++without_root_;
  }
  auto chain = symbols::JoinChains(frame_pointers, unwound);
  return chain;
}

void UserStacks::AddNotes(Profile& profile) const {
  if (unusable_ > 0) {
    profile.notes.push_back(
        {fmt::format("{} copied stacks (--call-graph dwarf) could not be unwound here: {}",
                     FormatCount(unusable_),
                     IsOfThisMachine() ? "they lack registers that unwinding needs"
                                       : "they were recorded on a " + header_.machine),
         false});
  }
  if (without_root_ == 0) return;
  std::string why;
  for (const auto& [path, problem] : unwinder_.problems()) {
    if (why.size() > 200) {
      why += " ...";
      break;
    }
    why += fmt::format("{}{} {}", why.empty() ? "; " : ", ", path,
                       problem == symbols::Unwinder::Problem::kReplaced
                           ? "was replaced since (its build id differs)"
                           : "is not here");
  }
  profile.notes.push_back(
      {fmt::format("{} of {} unwound stacks end before their root: the copy is too small (perf "
                   "record --call-graph dwarf,SIZE) or code has no unwind tables{}",
                   FormatCount(without_root_), FormatCount(unwound_), why),
       false});
}

}  // namespace culprit::profile::perf_data
