// UserStacks: the callers of a sample of --call-graph dwarf, unwound out of the registers and the
// stack that it carries. Names nothing; says which stacks have no root, and why.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "profile/perf_data/address_space.h"
#include "profile/perf_data/header.h"
#include "profile/perf_data/sample.h"
#include "profile/profile.h"
#include "symbols/unwind.h"

namespace culprit::profile::perf_data {

class UserStacks {
 public:
  UserStacks(const Header& header, const AddressSpaces& spaces, const std::string& root)
      : header_(header), spaces_(spaces), unwinder_(root) {}

  // The user code of the sample, innermost first. `frame_pointers` is what the kernel found of it.
  std::vector<symbols::UnwoundFrame> Chain(const Event& event, const SampleFields& sample,
                                           std::span<const std::uint64_t> frame_pointers);
  void AddNotes(Profile& profile) const;

 private:
  bool IsOfThisMachine() const;

  const Header& header_;
  const AddressSpaces& spaces_;
  symbols::Unwinder unwinder_;
  std::uint64_t unwound_ = 0;
  std::uint64_t without_root_ = 0;
  std::uint64_t unusable_ = 0;  // of another machine, of 32 bits, without the registers needed
};

}  // namespace culprit::profile::perf_data
