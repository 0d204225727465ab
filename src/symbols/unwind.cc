#include "symbols/unwind.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "base/file.h"
#include "base/text.h"
#include "symbols/elf_image.h"
#include "symbols/elf_symbols.h"

namespace culprit::symbols {
namespace {

// Which register of perf (bit of the mask: arch/*/include/uapi/asm/perf_regs.h) is which of DWARF's
// (the psABI of the machine), and where both keep the stack pointer and the program counter.
#if defined(__x86_64__)
constexpr std::uint16_t kMachine = EM_X86_64;
//                                     ax dx cx bx si di bp sp r8 ..                      r15  ip
constexpr std::array<unsigned, 17> kPerfRegister = {0,  3,  2,  1,  4,  5,  6,  7, 16,
                                                    17, 18, 19, 20, 21, 22, 23, 8};
constexpr unsigned kStackPointer = 7;  // by DWARF's numbers
constexpr unsigned kProgramCounter = 16;
#elif defined(__aarch64__)
constexpr std::uint16_t kMachine = EM_AARCH64;
constexpr std::array<unsigned, 33> kPerfRegister = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                                    11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                                    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
constexpr unsigned kStackPointer = 31;
constexpr unsigned kProgramCounter = 32;
#else
constexpr std::uint16_t kMachine = EM_NONE;
constexpr std::array<unsigned, 1> kPerfRegister = {0};
constexpr unsigned kStackPointer = 0;
constexpr unsigned kProgramCounter = 0;
#endif

using Registers = std::array<Dwarf_Word, kPerfRegister.size()>;

// Each keeps its files open and what it read of their tables.
constexpr std::size_t kMostProcesses = 16;

bool ReadRegisters(const UserState& state, Registers& registers) {
  if (kMachine == EM_NONE || (state.register_mask & UnwindRegisters()) != UnwindRegisters()) {
    return false;
  }
  if (state.registers.size() < 8U * static_cast<std::size_t>(std::popcount(state.register_mask))) {
    return false;
  }
  for (std::size_t i = 0; i < registers.size(); ++i) {
    const std::uint64_t before = (std::uint64_t{1} << kPerfRegister[i]) - 1;
    const auto slot = static_cast<std::size_t>(std::popcount(state.register_mask & before));
    registers[i] = static_cast<Dwarf_Word>(ReadIntegerAt(state.registers, 8 * slot, 8, false));
  }
  return true;
}

// The vdso out of this program's own memory, as a file.
UniqueFd OwnVdso() {
  const std::uint64_t begin = ::getauxval(AT_SYSINFO_EHDR);
  const auto maps = ReadFile("/proc/self/maps");
  if (begin == 0 || !maps.ok()) return {};
  for (const std::string_view line : SplitLines(*maps)) {
    if (!line.ends_with("[vdso]")) continue;
    const std::size_t dash = line.find('-');
    if (dash == std::string_view::npos) continue;
    const auto end =
        ParseInteger<std::uint64_t>(line.substr(dash + 1, line.find(' ') - dash - 1), 16);
    if (!end || *end <= begin) continue;
    UniqueFd file(memfd_create("vdso", MFD_CLOEXEC));
    const std::string_view image(
        reinterpret_cast<const char*>(begin),  // NOLINT(performance-no-int-to-ptr)
        *end - begin);
    if (file.valid() && WriteAll(file.get(), image, "vdso").ok()) return file;
  }
  return {};
}

int FindNoElf(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) { return -1; }
// What is not in the file itself stays unknown: libdwfl would also ask servers.
int FindNoDebugFile(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                    GElf_Word, char**) {
  return -1;
}

constexpr Dwfl_Callbacks kCallbacks = {
    .find_elf = FindNoElf,
    .find_debuginfo = FindNoDebugFile,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = nullptr,
};

}  // namespace

// A file that may be unwound: the one that was mapped, as far as build ids tell.
struct Unwinder::File {
  std::string path;  // empty: none
  UniqueFd vdso;
  std::vector<LoadSegment> segments;

  // What is added to the file's own addresses where `mapping` put it.
  std::optional<std::uint64_t> BiasOf(const MappedFile& mapping) const {
    for (const LoadSegment& segment : segments) {
      // Mappings begin at whole pages, which may be before the segment does.
      constexpr std::uint64_t kPage = 4096;
      const std::uint64_t first = segment.offset & ~(kPage - 1);
      if (mapping.file_offset < first || mapping.file_offset >= segment.offset + segment.size) {
        continue;
      }
      return mapping.begin - mapping.file_offset + segment.offset - segment.address;
    }
    return std::nullopt;
  }
};

std::uint64_t UnwindRegisters() {
  if (kMachine == EM_NONE) return 0;
  std::uint64_t mask = 0;
  for (const unsigned bit : kPerfRegister) mask |= std::uint64_t{1} << bit;
  return mask;
}

// The modules of one process in libdwfl's form, reported as stacks lead into them.
class Unwinder::Process {
 public:
  explicit Process(Unwinder& owner) : owner_(owner), dwfl_(dwfl_begin(&kCallbacks)) {}

  // False: what is mapped where a module was before is another one now; begin anew.
  bool Unwind(const Registers& registers, std::span<const std::byte> stack, const FindMapping& find,
              std::size_t most_frames, Unwound& out) {
    registers_ = &registers;
    stack_ = stack;
    find_ = &find;
    most_frames_ = most_frames;
    out_ = &out;
    out = {};
    is_stale_ = false;
    lacks_memory_ = false;
    Report(registers[kProgramCounter]);
    if (is_stale_) return false;
    if (!Attach()) {  // code of no file that is known
      out.frames.push_back({registers[kProgramCounter], false});
      return true;
    }
    const int result = dwfl_getthread_frames(dwfl_.get(), kThread, TakeFrame, this);
    if (is_stale_) return false;
    // To libdwfl, a return address that cannot be read is the same as none.
    out.is_complete = result == 0 && !out.frames.empty() && !lacks_memory_;
    if (out.frames.empty()) out.frames.push_back({registers[kProgramCounter], false});
    return true;
  }

 private:
  static constexpr pid_t kThread = 1;  // libdwfl wants a number

  struct End {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };
  struct Reported {
    std::uint64_t bias = 0;
    const File* file = nullptr;
    bool operator==(const Reported&) const = default;
  };

  // False: no code can be there.
  bool Report(std::uint64_t address) {
    const auto mapping = (*find_)(address);
    if (mapping.has_value()) ReportFile(address, *mapping);
    return mapping.has_value();
  }

  void ReportFile(std::uint64_t address, const MappedFile& mapping) {
    Dwfl_Module* known = dwfl_addrmodule(dwfl_.get(), address);
    const File* file = owner_.FileOf(mapping);
    const auto bias = file == nullptr ? std::nullopt : file->BiasOf(mapping);
    if (known != nullptr) {
      void** data = nullptr;
      dwfl_module_info(known, &data, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
      const auto* reported = data == nullptr ? nullptr : static_cast<const Reported*>(*data);
      is_stale_ = reported == nullptr || !bias.has_value() ||
                  !(*reported == Reported{.bias = *bias, .file = file});
      return;
    }
    if (!bias.has_value()) return;
    dwfl_report_begin_add(dwfl_.get());
    // libdwfl closes the descriptor that it is given.
    const int fd = file->vdso.valid() ? ::fcntl(file->vdso.get(), F_DUPFD_CLOEXEC, 0) : -1;
    const std::string name = NameOf(*file, *bias);
    Dwfl_Module* module =
        dwfl_report_elf(dwfl_.get(), name.c_str(), file->path.c_str(), fd, *bias, true);
    if (module == nullptr && fd >= 0) ::close(fd);
    dwfl_report_end(dwfl_.get(), nullptr, nullptr);
    void** data = nullptr;
    if (module == nullptr) return;
    dwfl_module_info(module, &data, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    reported_.push_back({.bias = *bias, .file = file});
    if (data != nullptr) *data = &reported_.back();
  }

  // libdwfl takes modules of one name and place for one.
  static std::string NameOf(const File& file, std::uint64_t bias) {
    return file.path + "@" + std::to_string(bias);
  }

  bool Attach() {
    if (is_attached_) return true;
    static constexpr Dwfl_Thread_Callbacks kThreads = {
        .next_thread = NextThread,
        .get_thread = nullptr,
        .memory_read = ReadMemory,
        .set_initial_registers = SetRegisters,
        .detach = nullptr,
        .thread_detach = nullptr,
    };
    is_attached_ = dwfl_attach_state(dwfl_.get(), nullptr, kThread, &kThreads, this);
    return is_attached_;
  }

  static pid_t NextThread(Dwfl*, void* self, void** thread) {
    if (*thread != nullptr) return 0;
    *thread = self;
    return kThread;
  }

  static bool ReadMemory(Dwfl*, Dwarf_Addr address, Dwarf_Word* result, void* self) {
    auto& process = *static_cast<Process*>(self);
    const std::uint64_t begin = (*process.registers_)[kStackPointer];
    if (address < begin || process.stack_.size() < sizeof(*result) ||
        address - begin > process.stack_.size() - sizeof(*result)) {
      process.lacks_memory_ = true;
      return false;
    }
    std::memcpy(result, process.stack_.data() + (address - begin), sizeof(*result));
    return true;
  }

  static bool SetRegisters(Dwfl_Thread* thread, void* self) {
    const Registers& registers = *static_cast<const Process*>(self)->registers_;
#if defined(__aarch64__)
    dwfl_thread_state_register_pc(thread, registers[kProgramCounter]);
    return dwfl_thread_state_registers(thread, 0, kProgramCounter, registers.data());
#else
    return dwfl_thread_state_registers(thread, 0, registers.size(), registers.data());
#endif
  }

  static int TakeFrame(Dwfl_Frame* frame, void* self) {
    auto& process = *static_cast<Process*>(self);
    process.lacks_memory_ = false;
    Dwarf_Addr pc = 0;
    if (!dwfl_frame_pc(frame, &pc, nullptr)) return DWARF_CB_ABORT;
    // Whether it was called or interrupted is written in the tables of the module.
    const bool is_code = process.Report(pc) || process.out_->frames.empty();
    if (process.is_stale_ || !is_code) return DWARF_CB_ABORT;
    bool is_activation = false;
    if (!dwfl_frame_pc(frame, &pc, &is_activation)) return DWARF_CB_ABORT;
    process.out_->frames.push_back({pc, !is_activation});
    return process.out_->frames.size() < process.most_frames_ ? DWARF_CB_OK : DWARF_CB_ABORT;
  }

  Unwinder& owner_;
  std::list<Reported> reported_;  // places stay: libdwfl's modules point to them
  std::unique_ptr<Dwfl, End> dwfl_;
  bool is_attached_ = false;
  bool is_stale_ = false;
  bool lacks_memory_ = false;  // since the frame before
  const Registers* registers_ = nullptr;
  std::span<const std::byte> stack_;
  const FindMapping* find_ = nullptr;
  std::size_t most_frames_ = 0;
  Unwound* out_ = nullptr;
};

Unwinder::Unwinder(std::string root, std::size_t most_frames)
    : root_(std::move(root)), most_frames_(most_frames) {}
Unwinder::~Unwinder() = default;

const Unwinder::File* Unwinder::FileOf(const MappedFile& mapping) {
  const auto [entry, is_new] = files_.try_emplace({mapping.path, mapping.build_id});
  std::unique_ptr<File>& file = entry->second;  // clang captures no structured binding
  if (!is_new) return file.get();
  bool is_replaced = false;
  const auto take = [&](const std::string& path, UniqueFd vdso) {
    auto image = ElfImage::Open(path);
    if (!image.ok() || image->machine() != kMachine) return;
    if (!mapping.build_id.empty() && image->build_id() != mapping.build_id) {
      is_replaced = true;
      return;
    }
    file = std::make_unique<File>(File{path, std::move(vdso), image->segments()});
  };
  if (mapping.path == "[vdso]") {
    // Without a build id it cannot be told whose it is: a wrong one would give wrong callers.
    UniqueFd vdso = mapping.build_id.empty() ? UniqueFd() : OwnVdso();
    if (vdso.valid()) {
      const std::string path = "/proc/self/fd/" + std::to_string(vdso.get());
      take(path, std::move(vdso));
    }
  } else if (mapping.path.starts_with('/')) {
    std::string path = mapping.path;
    constexpr std::string_view kDeleted = " (deleted)";
    if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
    take(JoinPath(root_, path), {});
  }
  for (const std::string& path : FindByBuildId(mapping.build_id, false, root_)) {
    if (file == nullptr) take(path, {});
  }
  if (file == nullptr && !mapping.path.empty()) {
    problems_[mapping.path] = is_replaced ? Problem::kReplaced : Problem::kMissing;
  }
  return file.get();
}

Unwound Unwinder::Unwind(std::int32_t process, const UserState& state, const FindMapping& find) {
  Unwound out;
  Registers registers{};
  if (!ReadRegisters(state, registers)) return out;
  auto at = std::find_if(processes_.begin(), processes_.end(),
                         [process](const auto& entry) { return entry.first == process; });
  if (at == processes_.end()) {
    if (processes_.size() >= kMostProcesses) processes_.pop_back();
    processes_.emplace_front(process, std::make_unique<Process>(*this));
  } else {
    processes_.splice(processes_.begin(), processes_, at);
  }
  auto& entry = processes_.front().second;
  if (entry->Unwind(registers, state.stack, find, most_frames_, out)) return out;
  entry = std::make_unique<Process>(*this);
  if (!entry->Unwind(registers, state.stack, find, most_frames_, out)) {
    out = {{{registers[kProgramCounter], false}}, false};  // mappings that contradict each other
  }
  return out;
}

std::vector<UnwoundFrame> JoinChains(std::span<const std::uint64_t> frame_pointers,
                                     const Unwound& unwound) {
  if (unwound.is_complete) return unwound.frames;
  const auto frame = [&](std::size_t i) { return UnwoundFrame{frame_pointers[i], i > 0}; };
  if (!unwound.frames.empty()) {
    const auto last =
        std::find(frame_pointers.begin(), frame_pointers.end(), unwound.frames.back().address);
    if (last != frame_pointers.end()) {
      std::vector<UnwoundFrame> joined = unwound.frames;
      for (auto i = static_cast<std::size_t>(last - frame_pointers.begin()) + 1;
           i < frame_pointers.size(); ++i) {
        joined.push_back(frame(i));
      }
      return joined;
    }
  }
  if (unwound.frames.size() >= frame_pointers.size()) return unwound.frames;
  std::vector<UnwoundFrame> chain;
  for (std::size_t i = 0; i < frame_pointers.size(); ++i) chain.push_back(frame(i));
  return chain;
}

}  // namespace culprit::symbols
