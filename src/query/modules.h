// The modules that INCLUDE PERFETTO MODULE knows: modules/*.sql, written in PerfettoSQL itself and
// put into the program when it is built.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace culprit::query {

struct Module {
  std::string_view name;  // "linux.cpu.frequency"
  std::string_view text;
};

// In the order of their names, without the prelude.
std::vector<Module> Modules();
// Functions and macros that need no INCLUDE, and whether a name is one of them.
inline constexpr std::string_view kPreludeName = "prelude";
std::string_view PreludeText();
bool PreludeMakes(std::string_view object);

// Modules that a name stands for: one, or with "linux.cpu.*" all below; empty when there is none.
std::vector<Module> FindModules(std::string_view name);
// Known modules whose names are near.
std::vector<std::string> NearModules(std::string_view name);

// The module that makes this table, function or macro; empty when none does.
std::string_view ModuleWith(std::string_view object);

}  // namespace culprit::query
