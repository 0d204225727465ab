#include "load/string_pool.h"

#include <cstring>
#include <functional>

#include "base/check.h"

namespace culprit::load {
namespace {
constexpr std::size_t kBlockBytes = std::size_t{1} << 16;
}

StringPool::StringPool() : shelves_(kShelves), slots_(1024) { Push({}, 0); }

void StringPool::Push(std::string_view text, std::uint32_t hash) {
  CULPRIT_CHECK(size_ < kShelf * kShelves);
  std::unique_ptr<Shelf>& shelf = shelves_[size_ / kShelf];
  if (shelf == nullptr) shelf = std::make_unique<Shelf>();
  (*shelf)[size_ % kShelf] = text;
  hashes_.push_back(hash);
  ++size_;
}

std::string_view StringPool::Store(std::string_view text) {
  if (text.size() > block_left_) {
    block_left_ = text.size() > kBlockBytes ? text.size() : kBlockBytes;
    blocks_.push_back(std::make_unique<char[]>(block_left_));
    block_at_ = blocks_.back().get();
  }
  char* place = block_at_;
  if (!text.empty()) std::memcpy(place, text.data(), text.size());
  block_at_ += text.size();
  block_left_ -= text.size();
  return {place, text.size()};
}

void StringPool::Grow() {
  std::vector<StringId> slots(slots_.size() * 2);
  for (StringId id = 1; id < size_; ++id) {
    std::size_t slot = hashes_[id] & (slots.size() - 1);
    while (slots[slot] != kNoString) slot = (slot + 1) & (slots.size() - 1);
    slots[slot] = id;
  }
  slots_ = std::move(slots);
}

StringId StringPool::Intern(std::string_view text) {
  const auto hash = static_cast<std::uint32_t>(std::hash<std::string_view>()(text));
  std::size_t slot = hash & (slots_.size() - 1);
  while (slots_[slot] != kNoString) {
    const StringId id = slots_[slot];
    if (hashes_[id] == hash && Text(id) == text) return id;
    slot = (slot + 1) & (slots_.size() - 1);
  }
  const auto id = static_cast<StringId>(size_);
  Push(Store(text), hash);
  slots_[slot] = id;
  if (size_ * 2 > slots_.size()) Grow();
  return id;
}

}  // namespace culprit::load
