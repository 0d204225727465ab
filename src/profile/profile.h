// Profile: weighted stacks in memory, the one form between all inputs (perf.data, traces, pprof
// ...) and all outputs (SVG, HTML, folded ...). Reads and prints nothing, and chooses nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace culprit::profile {

using StringId = std::uint32_t;  // 0: the empty text
using FrameId = std::uint32_t;
using StackId = std::uint32_t;   // 0: no frame at all
using ThreadId = std::uint32_t;  // index into Profile::threads

// Texts, each kept once. Views stay valid as long as the table.
class StringTable {
 public:
  StringTable() { static_cast<void>(Intern("")); }
  StringId Intern(std::string_view text);
  std::string_view Get(StringId id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, StringId> ids_;
};

// What kind of code a frame is, which is what colours say. kind_table.h decides.
enum class FrameKind : std::uint8_t {
  kUser,     // C, C++, Rust, Go: compiled code
  kKernel,   //
  kPython,   //
  kJit,      // Java, JavaScript: code made at run time
  kInlined,  // into its caller
  kRuntime,  // interpreters, allocators, the dynamic linker, libc's threads
  kGpu,      // CUDA, cuDNN, NCCL and their kernel modules
  kUnknown,  // no symbol
  kGroup,    // no code: a process, thread or CPU above its stacks
};
inline constexpr std::size_t kFrameKinds = 9;

struct Frame {
  StringId name = 0;
  StringId module = 0;  // file or "[kernel]"; 0: not known
  FrameKind kind = FrameKind::kUser;
  bool operator==(const Frame&) const = default;
};

struct Thread {
  StringId comm = 0;     // name of the thread; 0: not known
  StringId process = 0;  // name of its process; 0: not known
  std::int32_t pid = -1;
  std::int32_t tid = -1;
};

// What the weights of samples count.
struct Metric {
  std::string name;      // "cycles", "off-cpu", "alloc_space"
  std::string unit;      // "ns", "bytes", "samples"; empty: events of that name
  bool is_span = false;  // a sample lasts from its time on for its weight: a wait
};

struct Sample {
  std::int64_t ts = 0;  // ns on the input's clock; 0: not known
  std::int64_t weight = 0;
  StackId stack = 0;
  ThreadId thread = 0;
  std::int32_t cpu = -1;
  std::uint16_t metric = 0;  // index into Profile::metrics
  char state = 0;            // of off-CPU time: 'S', 'D', 'R' ...; 0: not known
};

// Something the reader of any output has to know: lost samples, missing symbols.
struct Note {
  std::string text;
  bool is_loss = false;  // data is missing because of it
};

class Profile {
 public:
  // Stacks are a tree: a stack is its innermost frame below the stack of its caller.
  struct Stack {
    StackId parent = 0;
    FrameId frame = 0;
  };

  FrameId InternFrame(const Frame& frame);
  FrameId InternFrame(std::string_view name, std::string_view module, FrameKind kind) {
    return InternFrame({strings.Intern(name), strings.Intern(module), kind});
  }
  StackId InternStack(StackId parent, FrameId frame);
  // Outermost first.
  StackId InternStack(std::span<const FrameId> chain);
  ThreadId AddThread(const Thread& thread);
  // The metric of that name, made when it is new; nothing beyond 65,535 of them.
  std::optional<std::uint16_t> InternMetric(std::string_view name, std::string_view unit);

  std::string_view name(FrameId frame) const { return strings.Get(frames[frame].name); }
  std::size_t CountSamples(std::uint16_t metric) const;

  StringTable strings;
  std::vector<Frame> frames;
  std::vector<Stack> stacks = {{}};  // a parent stands before its children; [0] is the empty one
  std::vector<Thread> threads;
  std::vector<Metric> metrics;
  std::vector<Sample> samples;
  std::vector<Note> notes;
  std::string format;  // "perf.data", "perf script text" ...
  // Whether threads and times are known at all: folded stacks have neither.
  bool has_threads = false;
  bool has_times = false;

 private:
  struct FrameHash {
    std::size_t operator()(const Frame& frame) const;
  };
  std::unordered_map<Frame, FrameId, FrameHash> frame_ids_;
  // Open addressing over `stacks`: a map of nodes would take most of the memory of a big profile.
  std::vector<StackId> stack_slots_;
  // Whole stacks by 128 bits of hash over their frames: one that was seen before costs one look-up
  // instead of one a frame, and its frames are not walked again.
  struct WholeStack {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    StackId id = 0;  // 0: an empty slot
  };
  std::vector<WholeStack> whole_slots_;
  std::size_t whole_count_ = 0;
  void GrowStackSlots();
  void GrowWholeSlots();
};

}  // namespace culprit::profile
