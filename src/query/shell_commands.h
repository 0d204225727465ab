// The commands of the interactive shell: what .help lists and completion offers. Runs none of them.
#pragma once

#include <span>
#include <string_view>

namespace culprit::query {

struct ShellCommand {
  std::string_view name;       // ".tables"
  std::string_view arguments;  // "[TABLE]"
  std::string_view summary;
};

std::span<const ShellCommand> ShellCommands();

}  // namespace culprit::query
