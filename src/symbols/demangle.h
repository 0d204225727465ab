// Readable names of C++, Rust and D symbols, and names without their parameters. Knows no files.
#pragma once

#include <string>
#include <string_view>

namespace culprit::symbols {

enum class NameStyle {
  kShort,  // without parameters and return type: "torch::autograd::Engine::thread_main"
  kFull,   // as the demangler writes it in full
};

// The name of a symbol as it stands in a symbol table; the same text when it is not mangled.
std::string Demangle(std::string_view symbol, NameStyle style = NameStyle::kShort);

// A name that something else has demangled, without its parameter lists: "f(int) const" is "f".
// Parentheses that belong to the name stay: operator(), (anonymous namespace), {lambda(int)#1},
// Go's (*T).Method, and everything between < and >.
std::string ShortName(std::string_view name);

}  // namespace culprit::symbols
