// The interned data of one ftrace bundle: kernel call stacks, their frames, and names of functions.
// Each bundle carries its own, so that bundles can be made in any order and on any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "symbols/kallsyms.h"
#include "tracefile/wire.h"

namespace culprit::capture {

// The kernel's symbols, read when the first address is asked for. Thread-safe.
class LazySymbols {
 public:
  explicit LazySymbols(std::string root) : root_(std::move(root)) {}

  // Nothing when the symbols cannot be had; missing() then says why.
  const symbols::KernelSymbols* Get();
  // Empty as long as nothing was asked for or the symbols were there.
  std::string missing() const;
  std::size_t size() const;

 private:
  std::string root_;
  mutable std::mutex mutex_;
  bool is_loaded_ = false;
  std::optional<symbols::KernelSymbols> symbols_;
  std::string missing_;
};

class Interner {
 public:
  explicit Interner(LazySymbols& symbols) : symbols_(symbols) {}

  // The iid of a call stack given innermost first, as the kernel records it. Frames of the tracing
  // itself (innermost) are left out.
  std::uint64_t Stack(std::span<const std::uint64_t> addresses);

  // The value for a field that trace viewers look up in kernel_symbols: an iid, or the address
  // where it has no name.
  std::uint64_t Function(std::uint64_t address);

  bool empty() const { return data_.empty(); }
  // The body of the InternedData message.
  std::string_view data() const { return data_.view(); }
  void Clear();

 private:
  struct Frame {
    std::uint64_t iid = 0;
    bool is_tracing = false;
  };
  const Frame& FrameOf(std::uint64_t address);
  std::uint64_t MappingOf(std::string_view module);
  std::uint64_t NameOf(std::string_view name);

  LazySymbols& symbols_;
  tracefile::WireBuffer data_;
  tracefile::WireBuffer message_;                          // scratch
  std::unordered_map<std::string, std::uint64_t> stacks_;  // the bytes of the addresses -> iid
  std::unordered_map<std::uint64_t, Frame> frames_;
  std::unordered_map<std::string, std::uint64_t> names_;
  std::unordered_map<std::string, std::uint64_t> mappings_;
  std::unordered_map<std::uint64_t, std::uint64_t> functions_;
};

}  // namespace culprit::capture
