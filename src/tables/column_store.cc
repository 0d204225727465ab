#include "tables/column_store.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>

namespace culprit::tables {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kColumnAlignment = 64;
constexpr std::size_t kTextBlockBytes = std::size_t{1} << 16;

std::size_t RoundUp(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

std::size_t DefaultLimitBytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  return pages <= 0 ? SIZE_MAX : static_cast<std::size_t>(pages) / 5 * 4 * kPage;
}

// Fresh pages, from huge ones where that is worth it: a fault and its clearing for each 4 KB costs
// more than filling them.
void* Map(std::size_t bytes) {
  constexpr int kProtection = PROT_READ | PROT_WRITE;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (bytes < kHugePage) {
    void* place = ::mmap(nullptr, bytes, kProtection, kFlags, -1, 0);
    return place == MAP_FAILED ? nullptr : place;
  }
  void* room = ::mmap(nullptr, bytes + kHugePage, kProtection, kFlags, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(room);
  const std::uintptr_t aligned = RoundUp(begin, kHugePage);
  auto* place = static_cast<char*>(room) + (aligned - begin);
  if (aligned != begin) ::munmap(room, aligned - begin);
  if (const std::size_t behind = begin + kHugePage - aligned; behind != 0) {
    ::munmap(place + bytes, behind);
  }
  ::madvise(place, bytes, MADV_HUGEPAGE);
  return place;
}

}  // namespace

Result<std::unique_ptr<StoredChunk>> StoredChunk::Make(StoredColumns columns, std::size_t capacity,
                                                       std::shared_ptr<StoreMemory> memory) {
  std::unique_ptr<StoredChunk> chunk(
      new StoredChunk(std::move(columns), capacity, std::move(memory)));
  std::size_t bytes = 0;
  for (const StoredColumn& column : *chunk->columns_) {
    chunk->offsets_.push_back(bytes);
    bytes += RoundUp(column.width * capacity, kColumnAlignment);
  }
  bytes = RoundUp(bytes, kPage);
  const std::size_t used = chunk->memory_->used_bytes.fetch_add(bytes) + bytes;
  chunk->mapped_bytes_ = bytes;
  if (used <= chunk->memory_->limit_bytes) chunk->data_ = static_cast<char*>(Map(bytes));
  if (chunk->data_ == nullptr) {
    return Error{fmt::format("the tables of the trace need more than the {} MiB there are",
                             chunk->memory_->limit_bytes >> 20),
                 "make a file of them: culprit load TRACE -o FILE.duckdb"};
  }
  chunk->validity_.resize(chunk->columns_->size());
  return chunk;
}

StoredChunk::~StoredChunk() {
  if (data_ != nullptr) ::munmap(data_, mapped_bytes_);
  memory_->used_bytes -= mapped_bytes_;
}

std::uint64_t* StoredChunk::MutableValidity(std::size_t column) {
  auto& words = validity_[column];
  if (words == nullptr) {
    const std::size_t count = (capacity_ + 63) / 64;
    words = std::make_unique_for_overwrite<std::uint64_t[]>(count);
    std::memset(words.get(), 0xFF, count * sizeof(std::uint64_t));
  }
  return words.get();
}

const char* StoredChunk::KeepText(std::string_view text) {
  if (text.size() > block_left_) {
    block_left_ = std::max(text.size(), kTextBlockBytes);
    text_blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_left_));
    block_at_ = text_blocks_.back().get();
  }
  char* place = block_at_;
  std::memcpy(place, text.data(), text.size());
  block_at_ += text.size();
  block_left_ -= text.size();
  return place;
}

std::uint32_t StoredChunk::AddText(std::string_view text) {
  if (text.empty()) return 0;
  const std::size_t hash = std::hash<std::string_view>()(text);
  if (texts_.size() * 2 > text_slots_.size()) {
    std::vector<std::uint32_t> slots(std::max<std::size_t>(64, text_slots_.size() * 2));
    for (std::uint32_t i = 1; i < texts_.size(); ++i) {
      std::size_t slot = std::hash<std::string_view>()(texts_[i].view()) & (slots.size() - 1);
      while (slots[slot] != 0) slot = (slot + 1) & (slots.size() - 1);
      slots[slot] = i;
    }
    text_slots_ = std::move(slots);
  }
  std::size_t slot = hash & (text_slots_.size() - 1);
  for (; text_slots_[slot] != 0; slot = (slot + 1) & (text_slots_.size() - 1)) {
    if (texts_[text_slots_[slot]].view() == text) return text_slots_[slot];
  }
  StoredText stored;
  stored.size = static_cast<std::uint32_t>(text.size());
  if (text.size() <= StoredText::kInPlace) {
    std::memcpy(stored.bytes.data(), text.data(), text.size());
  } else {
    const char* place = KeepText(text);
    std::memcpy(stored.bytes.data(), place, 4);
    std::memcpy(&stored.bytes[4], &place, sizeof(place));
  }
  const auto number = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back(stored);
  text_slots_[slot] = number;
  return number;
}

std::size_t StoredTable::ColumnIndex(std::string_view name) const {
  for (std::size_t i = 0; i < columns_->size(); ++i) {
    if ((*columns_)[i].name == name) return i;
  }
  CULPRIT_CHECK(!"a column that the table does not have");
  return 0;
}

ColumnStore::ColumnStore(std::size_t memory_limit_bytes) {
  memory_->limit_bytes = memory_limit_bytes != 0 ? memory_limit_bytes : DefaultLimitBytes();
}

std::shared_ptr<StoredTable> ColumnStore::Find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = tables_.find(name);
  return found == tables_.end() ? nullptr : found->second;
}

void ColumnStore::Put(std::string name, StoredColumns columns) {
  auto table = std::make_shared<StoredTable>(name, std::move(columns), memory_);
  const std::lock_guard lock(mutex_);
  tables_[std::move(name)] = std::move(table);
}

void ColumnStore::Remove(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (const auto found = tables_.find(name); found != tables_.end()) tables_.erase(found);
}

bool ColumnStore::BecomesReadable() {
  const std::lock_guard lock(mutex_);
  return !std::exchange(is_readable_, true);
}

}  // namespace culprit::tables
