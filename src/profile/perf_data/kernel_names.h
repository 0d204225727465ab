// KernelNames: the functions of the recorded kernel, if it is this one: by its build id, or where
// the recording has none by the address of a symbol and the release.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/perf_data/address_space.h"
#include "profile/perf_data/header.h"
#include "symbols/kallsyms.h"

namespace culprit::profile::perf_data {

class KernelNames {
 public:
  static KernelNames Load(const Header& header, const std::vector<Module>& modules,
                          const std::string& root);

  struct Name {
    std::string_view name;
    std::string module;  // "[ext4]"; empty: the kernel itself
  };
  // `module` is that of the address's mapping.
  std::optional<Name> Find(std::string_view module, std::uint64_t address) const;
  // Why there are no names; empty when there are.
  const std::string& problem() const { return problem_; }

 private:
  std::optional<symbols::KernelSymbols> symbols_;
  std::uint64_t moved_by_ = 0;  // this boot's address of the kernel less the recorded one (KASLR)
  std::string problem_;
};

}  // namespace culprit::profile::perf_data
