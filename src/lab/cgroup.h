// A cgroup of our own for one controller, below the root of whichever hierarchy has it (v2, or v1
// where the controller is mounted there). The caretaker removes it. Knows no limits' meaning.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lab/caretaker.h"

namespace culprit::lab {

struct CgroupHierarchy {
  std::string mount;  // "/sys/fs/cgroup/cpu"
  bool v2 = false;
};

// From the text of /proc/self/mounts. v1 first: where a controller is mounted there it is not in
// v2.
std::optional<CgroupHierarchy> FindHierarchy(std::string_view mounts, std::string_view controller);

// Where hierarchies are mounted; nothing where that cannot be read.
std::vector<std::string> CgroupMounts();

class Cgroup {
 public:
  // Needs root. An Error where the controller is in no hierarchy or not enabled for children.
  static Result<Cgroup> Make(Caretaker& caretaker, std::string_view controller);
  // One in v2 whatever its controllers: its *.pressure counts. Nothing where there is no v2.
  static std::optional<Cgroup> MakeForPressure(Caretaker& caretaker);

  bool v2() const { return v2_; }
  // Below the hierarchy's root: "/culprit-lab.1.2".
  const std::string& name() const { return name_; }
  std::string Procs() const { return path_ + "/cgroup.procs"; }
  Status Set(std::string_view file, std::string_view value) const;
  // The number behind `key` in a file of "key number" lines; 0 when it is not there.
  std::int64_t Number(std::string_view file, std::string_view key) const;
  // "some ... total=N" of a pressure file, in ns; nothing where pressure is not counted.
  std::optional<std::int64_t> SomePressureNs(std::string_view resource) const;

 private:
  Cgroup(std::string path, std::string name, bool v2)
      : path_(std::move(path)), name_(std::move(name)), v2_(v2) {}
  static Result<Cgroup> MakeIn(Caretaker& caretaker, const CgroupHierarchy& hierarchy);
  std::string path_, name_;
  bool v2_;
};

}  // namespace culprit::lab
