#include "profile/kind_table.h"

#include <array>

#include "base/check.h"

namespace culprit::profile {
namespace {

struct Rule {
  enum Where { kModule, kName } where;
  std::string_view prefix;  // of the module's last path component, or of the function's name
  FrameKind kind;
};

// The first one that fits decides.
constexpr std::array kRules = {
    // Python's own trampolines (python -X perf) and py-spy's names.
    Rule{Rule::kName, "py::", FrameKind::kPython},
    // NVIDIA, AMD and their communication libraries.
    Rule{Rule::kModule, "libcuda", FrameKind::kGpu},
    Rule{Rule::kModule, "libcublas", FrameKind::kGpu},
    Rule{Rule::kModule, "libcudnn", FrameKind::kGpu},
    Rule{Rule::kModule, "libcufft", FrameKind::kGpu},
    Rule{Rule::kModule, "libcusparse", FrameKind::kGpu},
    Rule{Rule::kModule, "libcusolver", FrameKind::kGpu},
    Rule{Rule::kModule, "libcurand", FrameKind::kGpu},
    Rule{Rule::kModule, "libcupti", FrameKind::kGpu},
    Rule{Rule::kModule, "libnccl", FrameKind::kGpu},
    Rule{Rule::kModule, "libnvrtc", FrameKind::kGpu},
    Rule{Rule::kModule, "libnvidia", FrameKind::kGpu},
    Rule{Rule::kModule, "libnvToolsExt", FrameKind::kGpu},
    Rule{Rule::kModule, "librccl", FrameKind::kGpu},
    Rule{Rule::kModule, "libamdhip", FrameKind::kGpu},
    Rule{Rule::kModule, "libhsa-runtime", FrameKind::kGpu},
    Rule{Rule::kModule, "librocblas", FrameKind::kGpu},
    Rule{Rule::kModule, "libMIOpen", FrameKind::kGpu},
    Rule{Rule::kModule, "[nvidia", FrameKind::kGpu},
    Rule{Rule::kModule, "nvidia", FrameKind::kGpu},
    // Interpreters, allocators, loaders.
    Rule{Rule::kModule, "libpython", FrameKind::kRuntime},
    Rule{Rule::kModule, "python", FrameKind::kRuntime},
    Rule{Rule::kModule, "libjvm.so", FrameKind::kRuntime},
    Rule{Rule::kModule, "libjemalloc", FrameKind::kRuntime},
    Rule{Rule::kModule, "libtcmalloc", FrameKind::kRuntime},
    Rule{Rule::kModule, "libmimalloc", FrameKind::kRuntime},
    Rule{Rule::kModule, "ld-linux", FrameKind::kRuntime},
    Rule{Rule::kModule, "ld-2.", FrameKind::kRuntime},
    Rule{Rule::kModule, "ld-musl", FrameKind::kRuntime},
    Rule{Rule::kModule, "libpthread", FrameKind::kRuntime},
    Rule{Rule::kModule, "libgomp", FrameKind::kRuntime},
    Rule{Rule::kModule, "libomp.", FrameKind::kRuntime},
    Rule{Rule::kModule, "libiomp", FrameKind::kRuntime},
    Rule{Rule::kName, "_int_malloc", FrameKind::kRuntime},
    Rule{Rule::kName, "_int_free", FrameKind::kRuntime},
    Rule{Rule::kName, "malloc", FrameKind::kRuntime},
    Rule{Rule::kName, "__libc_malloc", FrameKind::kRuntime},
    Rule{Rule::kName, "__libc_free", FrameKind::kRuntime},
    Rule{Rule::kName, "operator new", FrameKind::kRuntime},
    Rule{Rule::kName, "operator delete", FrameKind::kRuntime},
    Rule{Rule::kName, "je_", FrameKind::kRuntime},
    Rule{Rule::kName, "tc_malloc", FrameKind::kRuntime},
    Rule{Rule::kName, "tcmalloc::", FrameKind::kRuntime},
    Rule{Rule::kName, "_PyEval", FrameKind::kRuntime},
    Rule{Rule::kName, "runtime.mallocgc", FrameKind::kRuntime},
    Rule{Rule::kName, "runtime.gcBgMarkWorker", FrameKind::kRuntime},
};

// Names in brackets that are no kernel modules.
constexpr std::array<std::string_view, 10> kUserBrackets = {
    "[unknown]", "[vdso]", "[vdso32]",  "[vvar]",    "[heap]",
    "[stack]",   "[anon]", "[vectors]", "[uprobes]", "[jit]"};

std::string_view BaseName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace

bool IsKernelModule(std::string_view module) {
  const std::string_view base = BaseName(module);
  if (module == "/kernel") return true;  // what Perfetto calls it
  if (base.starts_with("vmlinux") || base.ends_with(".ko") ||
      base.find(".ko.") != std::string_view::npos) {
    return true;
  }
  if (!module.starts_with('[')) return false;
  if (module.starts_with("[stack") || module.starts_with("[anon")) return false;
  for (const std::string_view name : kUserBrackets) {
    if (module == name) return false;
  }
  return true;
}

bool IsJitModule(std::string_view module) {
  const std::string_view base = BaseName(module);
  return (base.starts_with("perf-") && base.ends_with(".map")) || base == "[anon]" ||
         module == "//anon" || module == "[jit]" || base.starts_with("jitted-") ||
         module.starts_with("[anon:");
}

FrameKind KindOf(std::string_view name, std::string_view module) {
  const std::string_view base = BaseName(module);
  for (const Rule& rule : kRules) {
    const std::string_view text = rule.where == Rule::kModule ? base : name;
    if (text.starts_with(rule.prefix)) return rule.kind;
  }
  if (IsKernelModule(module)) return FrameKind::kKernel;
  if (IsJitModule(module)) return FrameKind::kJit;
  return FrameKind::kUser;
}

std::string_view KindLabel(FrameKind kind) {
  switch (kind) {
    case FrameKind::kUser:
      return "user code";
    case FrameKind::kKernel:
      return "kernel";
    case FrameKind::kPython:
      return "Python";
    case FrameKind::kJit:
      return "JIT";
    case FrameKind::kInlined:
      return "inlined";
    case FrameKind::kRuntime:
      return "runtime, allocator";
    case FrameKind::kGpu:
      return "CUDA, NCCL";
    case FrameKind::kUnknown:
      return "no symbol";
    case FrameKind::kGroup:
      return "process, thread";
  }
  CULPRIT_CHECK(false);
}

}  // namespace culprit::profile
