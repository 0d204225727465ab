// Unwinder: the callers of a sample of user code out of its registers and a copy of its stack, by
// the unwind tables (.eh_frame, .debug_frame) of the files that were mapped, with libdwfl. x86-64
// and AArch64, on a machine of the same kind. Names nothing, and reads no process's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::symbols {

// One file in the memory of a process, as a record of MMAP2 tells it.
struct MappedFile {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;  // of begin
  std::string path;               // "[vdso]" is this machine's own, if the build id is
  std::string build_id;           // lower-case hexadecimal; empty: not recorded
};

// What PERF_SAMPLE_REGS_USER and PERF_SAMPLE_STACK_USER say in a sample.
struct UserState {
  std::uint64_t register_mask = 0;       // attr.sample_regs_user
  std::span<const std::byte> registers;  // of 8 bytes each, in the order of the mask's bits
  std::span<const std::byte> stack;      // from the stack pointer on; only what was copied
};

// The registers to ask for on this machine: what UserState::register_mask has to have at least.
// Zero where no unwinding is possible.
std::uint64_t UnwindRegisters();

struct UnwoundFrame {
  std::uint64_t address = 0;
  bool is_caller = false;  // the address is behind a call
  bool operator==(const UnwoundFrame&) const = default;
};

struct Unwound {
  std::vector<UnwoundFrame> frames;  // innermost first; empty: the registers are not usable
  bool is_complete = false;          // the last one is where the thread begins
};

class Unwinder {
 public:
  // Files are looked for below `root`, and by build id where FindByBuildId looks.
  explicit Unwinder(std::string root = "/", std::size_t most_frames = 1024);
  ~Unwinder();
  Unwinder(const Unwinder&) = delete;
  Unwinder& operator=(const Unwinder&) = delete;

  // What is mapped at an address of the process: code made at run time without a path, nothing
  // where no code can be, which ends a stack.
  using FindMapping = std::function<std::optional<MappedFile>(std::uint64_t address)>;
  // `process` names the memory that `find` looks into: calls of one process are cheap one after the
  // other. Frames behind a missing, foreign or replaced file end the stack there.
  Unwound Unwind(std::int32_t process, const UserState& state, const FindMapping& find);

  // Files without which stacks ended, and why; a file once.
  enum class Problem { kMissing, kReplaced };  // kReplaced: it has another build id now
  const std::map<std::string, Problem>& problems() const { return problems_; }

 private:
  class Process;
  struct File;
  const File* FileOf(const MappedFile& mapping);

  std::string root_;
  std::size_t most_frames_;
  std::list<std::pair<std::int32_t, std::unique_ptr<Process>>> processes_;  // last used in front
  std::map<std::pair<std::string, std::string>, std::unique_ptr<File>> files_;  // path, build id
  std::map<std::string, Problem> problems_;
};

// The better of a chain by frame pointers (innermost first) and one by unwinding: a complete one,
// else the unwound one with what frame pointers know behind its end, else the longer one.
std::vector<UnwoundFrame> JoinChains(std::span<const std::uint64_t> frame_pointers,
                                     const Unwound& unwound);

}  // namespace culprit::symbols
