// The recorder's private trace instance: made, marked as ours, removed; and those of dead recorders
// found and removed. What is enabled in it is the business of kernel_session.h.
//
//   instances/culprit-PID-START   PID and START (ticks since boot) of the recorder. The recorder
//                                 holds a flock on the directory while it lives, so a recorder of
//                                 another PID namespace is known to live as well.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "kernel/process_identity.h"
#include "kernel/tracefs.h"

namespace culprit::capture {

std::string InstanceName(const kernel::ProcessIdentity& recorder);
// Nothing when the name is not one of ours.
std::optional<kernel::ProcessIdentity> ParseInstanceName(std::string_view name);

// Instances of recorders that no longer live; those of others, whoever made them, are left alone.
[[nodiscard]] Result<std::vector<std::string>> DeadInstances(const kernel::Tracefs& tracefs,
                                                             const std::string& root = "/");
// Removes them and returns their names.
[[nodiscard]] Result<std::vector<std::string>> RemoveDeadInstances(const kernel::Tracefs& tracefs,
                                                                   const std::string& root = "/");

// Owns one instance: the destructor removes it.
class Instance {
 public:
  static Result<Instance> Create(const kernel::Tracefs& tracefs);

  Instance(Instance&& other) noexcept;
  Instance& operator=(Instance&&) = delete;
  ~Instance();

  const std::string& name() const { return name_; }
  const kernel::TraceDirectory& directory() const { return directory_; }
  const kernel::Tracefs& tracefs() const { return tracefs_; }

  // Before the destructor does it, to learn how it went.
  [[nodiscard]] Status Remove();

 private:
  Instance(kernel::Tracefs tracefs, std::string name, kernel::TraceDirectory directory)
      : tracefs_(std::move(tracefs)), name_(std::move(name)), directory_(std::move(directory)) {}

  kernel::Tracefs tracefs_;
  std::string name_;  // empty once removed or moved from
  kernel::TraceDirectory directory_;
  UniqueFd lock_;
  // Held open: the kernel stops the tracing of this instance and frees its rings when the last
  // descriptor of this file closes (option disable_on_free), even if every process of ours is
  // killed at once.
  UniqueFd free_buffer_;
};

}  // namespace culprit::capture
