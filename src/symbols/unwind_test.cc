// Unwinding this program itself: its registers and stack, taken by getcontext, against what the
// compiler's own unwinder finds.
#include "symbols/unwind.h"

#include <gtest/gtest.h>
#include <link.h>
#include <ucontext.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"

namespace culprit::symbols {
namespace {

std::vector<MappedFile> OwnMappings() {
  std::vector<MappedFile> mappings;
  const auto maps = ReadFile("/proc/self/maps");
  EXPECT_TRUE(maps.ok());
  for (const std::string_view line : SplitLines(*maps)) {
    // begin-end rwxp offset dev inode path
    const std::size_t dash = line.find('-');
    const std::size_t blank = line.find(' ');
    const std::size_t path = line.find('/');
    if (path == std::string_view::npos || line[blank + 3] != 'x') continue;
    const std::string_view offset = line.substr(blank + 6, line.find(' ', blank + 6) - blank - 6);
    mappings.push_back(
        {.begin = ParseInteger<std::uint64_t>(line.substr(0, dash), 16).value_or(0),
         .end =
             ParseInteger<std::uint64_t>(line.substr(dash + 1, blank - dash - 1), 16).value_or(0),
         .file_offset = ParseInteger<std::uint64_t>(offset, 16).value_or(0),
         .path = std::string(line.substr(path)),
         .build_id = ""});
  }
  return mappings;
}

Unwinder::FindMapping In(const std::vector<MappedFile>& mappings) {
  return [&mappings](std::uint64_t address) -> std::optional<MappedFile> {
    for (const MappedFile& mapping : mappings) {
      if (address >= mapping.begin && address < mapping.end) return mapping;
    }
    return std::nullopt;
  };
}

#if defined(__x86_64__)
struct State {
  std::vector<std::uint64_t> registers;
  std::vector<std::byte> stack;
  std::vector<std::uint64_t> callers;  // return addresses, by the compiler

  UserState view() const { return {UnwindRegisters(), std::as_bytes(std::span(registers)), stack}; }
};

// AddressSanitizer lets no copy of a stack be made.
__attribute__((noinline, no_sanitize("address"))) void Take(State& state) {
  ucontext_t context;
  getcontext(&context);
  const auto& of = context.uc_mcontext.gregs;
  // In the order of perf's bits: ax bx cx dx si di bp sp ip, r8 to r15.
  for (const int which :
       {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_RIP, REG_R8,
        REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15}) {
    state.registers.push_back(static_cast<std::uint64_t>(of[which]));
  }
  state.stack.resize(2048);  // less than what lies above in any program
  const auto* from = reinterpret_cast<const std::byte*>(of[REG_RSP]);  // NOLINT
  for (std::size_t i = 0; i < state.stack.size(); ++i) state.stack[i] = from[i];
  state.callers.push_back(reinterpret_cast<std::uint64_t>(__builtin_return_address(0)));
}

__attribute__((noinline)) void Deep(int depth, State& state) {
  if (depth == 0) {
    Take(state);
  } else {
    void (*volatile deeper)(int, State&) = Deep;  // so that nothing is inlined
    deeper(depth - 1, state);
  }
  asm volatile("" ::: "memory");  // no tail call
}

TEST(Unwinder, FindsTheCallersOfThisProgram) {
  State state;
  Deep(5, state);
  const auto mappings = OwnMappings();
  Unwinder unwinder;
  const Unwound unwound = unwinder.Unwind(1, state.view(), In(mappings));
  ASSERT_GT(unwound.frames.size(), 7U);
  EXPECT_EQ(unwound.frames[0].address, state.registers[8]);
  EXPECT_FALSE(unwound.frames[0].is_caller);
  EXPECT_EQ(unwound.frames[1], (UnwoundFrame{state.callers[0], true}));
  // Deep calls itself from one place.
  for (std::size_t i = 3; i <= 6; ++i) {
    EXPECT_EQ(unwound.frames[i].address, unwound.frames[2].address) << i;
  }
  EXPECT_NE(unwound.frames[7].address, unwound.frames[2].address);
  EXPECT_TRUE(unwinder.problems().empty());
  // The same again comes from what is kept.
  EXPECT_EQ(unwinder.Unwind(1, state.view(), In(mappings)).frames, unwound.frames);
}

TEST(Unwinder, StopsWhereItKnowsNothing) {
  State state;
  Deep(3, state);
  auto mappings = OwnMappings();
  Unwinder unwinder;
  // No copy: only where it was.
  UserState bare = state.view();
  bare.stack = {};
  EXPECT_EQ(unwinder.Unwind(1, bare, In(mappings)).frames.size(), 1U);
  EXPECT_FALSE(unwinder.Unwind(1, bare, In(mappings)).is_complete);
  // Too few registers, or fewer bytes than the mask says.
  UserState few = state.view();
  few.register_mask &= ~std::uint64_t{1};
  EXPECT_TRUE(unwinder.Unwind(1, few, In(mappings)).frames.empty());
  few = state.view();
  few.registers = few.registers.first(16);
  EXPECT_TRUE(unwinder.Unwind(1, few, In(mappings)).frames.empty());
  // The program was replaced: its tables are not believed.
  for (MappedFile& mapping : mappings) mapping.build_id = "00ff00ff";
  const Unwound replaced = unwinder.Unwind(2, state.view(), In(mappings));
  EXPECT_FALSE(replaced.is_complete);
  ASSERT_FALSE(unwinder.problems().empty());
  EXPECT_EQ(unwinder.problems().begin()->second, Unwinder::Problem::kReplaced);
  // Another place in the same process later: nothing of before is used for it.
  for (MappedFile& mapping : mappings) mapping.build_id.clear();
  EXPECT_GT(unwinder.Unwind(2, state.view(), In(mappings)).frames.size(), 4U);
  // Nothing but nonsense.
  State wild = state;
  for (std::uint64_t& value : wild.registers) value = ~value;
  EXPECT_EQ(unwinder.Unwind(3, wild.view(), In(mappings)).frames.size(), 1U);
}
#endif

TEST(JoinChains, TakesWhatReachesFurthest) {
  const std::uint64_t pointers[] = {1, 2, 3, 9, 10};
  const auto addresses = [](const std::vector<UnwoundFrame>& frames) {
    std::vector<std::uint64_t> out;
    for (const UnwoundFrame& frame : frames) out.push_back(frame.address);
    return out;
  };
  using Addresses = std::vector<std::uint64_t>;
  const Unwound complete{{{1, false}, {5, true}}, true};
  EXPECT_EQ(addresses(JoinChains(pointers, complete)), (Addresses{1, 5}));
  const Unwound broken{{{1, false}, {5, true}, {3, true}}, false};
  EXPECT_EQ(addresses(JoinChains(pointers, broken)), (Addresses{1, 5, 3, 9, 10}));
  const Unwound apart{{{1, false}, {6, true}}, false};
  EXPECT_EQ(addresses(JoinChains(pointers, apart)), (Addresses{1, 2, 3, 9, 10}));
  EXPECT_EQ(addresses(JoinChains({}, apart)), (Addresses{1, 6}));
  EXPECT_TRUE(JoinChains({}, {}).empty());
}

}  // namespace
}  // namespace culprit::symbols
