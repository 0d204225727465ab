// Journal: what every file that tune writes held before, on disk before the first write, so that a
// rollback is possible whenever the program was stopped. One JSON file, replaced as a whole.
//
//   no entry --apply: entry on disk--> (old, wrote) --value written--> --drop-in written-->
//   rollback: value is `wrote` -> write `old`; value is `old` -> nothing to do; else: somebody
//   changed it since -> refused
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "health/tune/knob.h"
#include "health/tune/root_files.h"

namespace culprit::tune {

inline constexpr const char* kStateDirectory = "/var/lib/culprit";
inline constexpr const char* kJournalPath = "/var/lib/culprit/tune.json";

// The other half of a pair of sysctls of which the kernel zeroes one when the other is written.
struct PairedValue {
  std::string path;
  std::string old_value;
};

struct JournalEntry {
  std::string key;  // of the knob; several files may share it
  Place place = Place::kSysctl;
  std::string path;  // "/proc/sys/vm/dirty_bytes"
  std::string old_value;
  std::string wrote;
  std::vector<std::string> wrote_before;  // of an apply that may have been stopped half way
  std::optional<PairedValue> pair;
  std::optional<std::string> old_drop_in;  // the key's value in our drop-in before; mostly none
  std::string applied_at;                  // UTC, for people

  // Whether tune itself has put this value there.
  bool Wrote(std::string_view value) const;
};

class Journal {
 public:
  // An absent journal is an empty one; a damaged one is an Error that names it.
  static Result<Journal> Read(const RootFiles& files);
  // Replaces the file; removes it when there is no entry. On disk when it returns.
  [[nodiscard]] Status Write(const RootFiles& files) const;

  JournalEntry* Find(std::string_view path);
  const JournalEntry* Find(std::string_view path) const;
  // Adds, or replaces that of the same path, in its place.
  void Put(JournalEntry entry);
  void Remove(std::string_view path);
  const std::vector<JournalEntry>& entries() const { return entries_; }

 private:
  std::vector<JournalEntry> entries_;  // in the order in which they were first applied
};

// One tune at a time: an exclusive lock on the state directory, which it makes. An Error when
// another run holds it.
Result<UniqueFd> LockState(const RootFiles& files);

}  // namespace culprit::tune
