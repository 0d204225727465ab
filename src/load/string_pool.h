// StringPool: each distinct text once, by a small number. Ids grow in order of first use, so they
// depend on the trace alone. One thread adds; others may read texts whose ids were handed to them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace culprit::load {

// 0 is "no text", which is not the same as the empty text.
using StringId = std::uint32_t;
inline constexpr StringId kNoString = 0;

class StringPool {
 public:
  StringPool();

  StringId Intern(std::string_view text);
  std::string_view Text(StringId id) const { return (*shelves_[id / kShelf])[id % kShelf]; }
  std::size_t size() const { return size_; }

 private:
  // Texts never move once they are in, so that reading needs no lock.
  static constexpr std::size_t kShelf = std::size_t{1} << 14;
  static constexpr std::size_t kShelves = std::size_t{1} << 14;
  using Shelf = std::array<std::string_view, kShelf>;

  void Push(std::string_view text, std::uint32_t hash);
  void Grow();
  std::string_view Store(std::string_view text);

  std::vector<std::unique_ptr<Shelf>> shelves_;  // kShelves of them, made as needed
  std::size_t size_ = 0;
  std::vector<std::uint32_t> hashes_;
  std::vector<StringId> slots_;  // open addressing; kNoString: free
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t block_left_ = 0;
  char* block_at_ = nullptr;
};

}  // namespace culprit::load
