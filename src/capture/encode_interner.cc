#include "capture/encode_interner.h"

#include "tracefile/fields.h"

namespace culprit::capture {
namespace {

namespace tf = tracefile;

// An address that lies further inside a function than this is no code of it.
constexpr std::uint64_t kFarthestOffset = 64 * 1024;

// Functions of the tracing itself, which stand innermost in a stack that a trigger records.
constexpr std::string_view kTracingPrefixes[] = {
    "trace_event_raw_event_", "__traceiter_", "perf_trace_",
    "event_triggers_",        "ftrace_",      "__ftrace_",
    "trace_event_buffer_",    "__do_trace_"};

bool IsTracing(std::string_view function) {
  for (const std::string_view prefix : kTracingPrefixes) {
    if (function.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

const symbols::KernelSymbols* LazySymbols::Get() {
  const std::lock_guard lock(mutex_);
  if (!is_loaded_) {
    is_loaded_ = true;
    auto loaded = symbols::KernelSymbols::Load(root_);
    if (loaded.ok()) {
      symbols_ = std::move(loaded).value();
    } else {
      missing_ = loaded.error().ToString();
    }
  }
  return symbols_ ? &*symbols_ : nullptr;
}

std::string LazySymbols::missing() const {
  const std::lock_guard lock(mutex_);
  return missing_;
}

std::size_t LazySymbols::size() const {
  const std::lock_guard lock(mutex_);
  return symbols_ ? symbols_->size() : 0;
}

void Interner::Clear() {
  if (data_.empty() && functions_.empty()) return;
  data_.Clear();
  stacks_.clear();
  frames_.clear();
  names_.clear();
  mappings_.clear();
  functions_.clear();
}

std::uint64_t Interner::NameOf(std::string_view name) {
  const auto [entry, is_new] = names_.try_emplace(std::string(name), names_.size() + 1);
  if (is_new) {
    message_.Clear();
    message_.VarintField(tf::InternedString::kIid, entry->second);
    message_.BytesField(tf::InternedString::kStr, name);
    data_.BytesField(tf::InternedData::kFunctionNames, message_.view());
  }
  return entry->second;
}

std::uint64_t Interner::MappingOf(std::string_view module) {
  const auto [entry, is_new] = mappings_.try_emplace(std::string(module), mappings_.size() + 1);
  if (is_new) {
    message_.Clear();
    message_.VarintField(tf::InternedString::kIid, entry->second);
    message_.BytesField(tf::InternedString::kStr,
                        module.empty() ? "[kernel.kallsyms]" : "[" + std::string(module) + "]");
    data_.BytesField(tf::InternedData::kMappingPaths, message_.view());
    message_.Clear();
    message_.VarintField(tf::Mapping::kIid, entry->second);
    message_.VarintField(tf::Mapping::kPathStringIds, entry->second);
    data_.BytesField(tf::InternedData::kMappings, message_.view());
  }
  return entry->second;
}

const Interner::Frame& Interner::FrameOf(std::uint64_t address) {
  const auto [entry, is_new] = frames_.try_emplace(address);
  Frame& frame = entry->second;
  if (!is_new) return frame;
  frame.iid = frames_.size();
  const symbols::KernelSymbols* symbols = symbols_.Get();
  const auto symbol = symbols == nullptr ? std::nullopt : symbols->Find(address);
  // Addresses differ from boot to boot; what is written does not: the distance from _stext, in a
  // module the one from the function. Without symbols the address is all there is.
  std::uint64_t rel_pc = address;
  if (symbol) rel_pc = symbol->module.empty() ? address - symbols->text_start() : symbol->offset;
  const std::uint64_t mapping = MappingOf(symbol ? symbol->module : std::string_view());
  const std::uint64_t name = symbol ? NameOf(symbol->name) : 0;
  frame.is_tracing = symbol && IsTracing(symbol->name);
  message_.Clear();
  message_.VarintField(tf::Frame::kIid, frame.iid);
  if (name != 0) message_.VarintField(tf::Frame::kFunctionNameId, name);
  message_.VarintField(tf::Frame::kMappingId, mapping);
  message_.VarintField(tf::Frame::kRelPc, rel_pc);
  data_.BytesField(tf::InternedData::kFrames, message_.view());
  return frame;
}

std::uint64_t Interner::Stack(std::span<const std::uint64_t> addresses) {
  const std::string key(reinterpret_cast<const char*>(addresses.data()), addresses.size_bytes());
  const auto [entry, is_new] = stacks_.try_emplace(key, stacks_.size() + 1);
  if (!is_new) return entry->second;
  std::size_t innermost = 0;
  while (innermost + 1 < addresses.size() && FrameOf(addresses[innermost]).is_tracing) ++innermost;
  // The frames first: their messages share the scratch with the stack's.
  for (const std::uint64_t address : addresses.subspan(innermost)) FrameOf(address);
  message_.Clear();
  message_.VarintField(tf::Callstack::kIid, entry->second);
  for (std::size_t i = addresses.size(); i > innermost; --i) {
    message_.VarintField(tf::Callstack::kFrameIds, FrameOf(addresses[i - 1]).iid);
  }
  data_.BytesField(tf::InternedData::kCallstacks, message_.view());
  return entry->second;
}

std::uint64_t Interner::Function(std::uint64_t address) {
  if (address == 0) return 0;
  const auto [entry, is_new] = functions_.try_emplace(address, address);
  if (!is_new) return entry->second;
  const symbols::KernelSymbols* symbols = symbols_.Get();
  const auto symbol = symbols == nullptr ? std::nullopt : symbols->Find(address);
  if (symbol && symbol->offset <= kFarthestOffset) {
    entry->second = functions_.size();
    message_.Clear();
    message_.VarintField(tf::InternedString::kIid, entry->second);
    message_.BytesField(tf::InternedString::kStr, symbol->name);
    data_.BytesField(tf::InternedData::kKernelSymbols, message_.view());
  }
  return entry->second;
}

}  // namespace culprit::capture
