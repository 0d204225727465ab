// What D-state waits of a recording wait for, by the kernel stack that was recorded with them
// (base/stack_class.h has the table). Knows tables and names, not waits.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/result.h"

namespace culprit::tables {
class Connection;
}

namespace culprit::analysis {

// thread_state.id -> "journal", "NFS" ...; rows without a stack, or with one that the table does
// not know, are left out. The names live as long as the result.
class WaitClasses {
 public:
  static Result<WaitClasses> Load(tables::Connection& connection);
  // "" where nothing is known.
  const std::string& Of(std::int64_t thread_state_id) const;

 private:
  std::unordered_map<std::int64_t, std::int64_t> callsite_of_;
  std::unordered_map<std::int64_t, std::string> class_of_;  // by callsite
  std::string none_;
};

}  // namespace culprit::analysis
