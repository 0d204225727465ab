// PairMap: from two 32-bit numbers to a third, in one flat array: trees of a million nodes are
// built through it, for which a map that allocates each entry takes several times as long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace culprit::profile {

class PairMap {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;  // no value of it can be this

  std::uint32_t Find(std::uint32_t a, std::uint32_t b) const {
    return slots_.empty() ? kNone : slots_[SlotOf(a, b)].value;
  }

  void Set(std::uint32_t a, std::uint32_t b, std::uint32_t value) {
    if ((size_ + 1) * 2 > slots_.size()) Grow();
    Slot& slot = slots_[SlotOf(a, b)];
    if (slot.value == kNone) ++size_;
    slot = {a, b, value};
  }

 private:
  struct Slot {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t value = kNone;
  };

  // Where the pair is, or the free slot where it would be.
  std::size_t SlotOf(std::uint32_t a, std::uint32_t b) const {
    std::uint64_t hash = ((std::uint64_t{a} << 32U) | b) * 0x9e3779b97f4a7c15U;
    hash = (hash ^ (hash >> 32U)) * 0xd6e8feb86659fd93U;
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(hash >> 20U) & mask;
    while (slots_[at].value != kNone && (slots_[at].a != a || slots_[at].b != b)) {
      at = (at + 1) & mask;
    }
    return at;
  }

  void Grow() {
    constexpr std::size_t kFirst = 1024;
    std::vector<Slot> old(slots_.empty() ? kFirst : slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.value != kNone) slots_[SlotOf(slot.a, slot.b)] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace culprit::profile
