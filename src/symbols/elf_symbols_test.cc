#include "symbols/elf_symbols.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/text.h"
#include "symbols/demangle.h"

namespace culprit::symbols {

// A function with a name that the symbol table must have, apart from all others.
extern "C" __attribute__((noinline, used)) int CulpritSymbolsTestTarget(int x) { return x * 7 + 1; }

namespace {

// Where `address` of this process lies in its file, by /proc/self/maps: {path, offset}.
std::pair<std::string, std::uint64_t> FileOffset(std::uint64_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;
    char rights[8] = {};
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %7s %lx %*s %*s %n", &begin, &end, rights, &offset,
                    &path_at) < 4) {
      continue;
    }
    if (address >= begin && address < end) {
      return {line.substr(static_cast<std::size_t>(path_at)), address - begin + offset};
    }
  }
  return {};
}

TEST(SymbolFile, NamesAFunctionOfThisProgram) {
  const auto address = reinterpret_cast<std::uint64_t>(&CulpritSymbolsTestTarget);
  const auto [path, offset] = FileOffset(address);
  ASSERT_FALSE(path.empty());
  auto file = SymbolFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.error().ToString();
  const auto in_file = file->AddressOfOffset(offset + 1);
  ASSERT_TRUE(in_file.has_value());
  const auto symbol = file->Lookup(*in_file);
  ASSERT_TRUE(symbol.has_value());
  EXPECT_EQ(symbol->name, "CulpritSymbolsTestTarget");
  EXPECT_EQ(symbol->offset, 1U);
  EXPECT_FALSE(file->Lookup(0).has_value());
}

TEST(SymbolFile, NamesWhatTheDynamicLinkerNames) {
  // Of libc alone: a sanitizer has functions of its own for what sorts or copies.
  void* target = ::dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
  ASSERT_NE(target, nullptr);
  const auto [path, offset] = FileOffset(reinterpret_cast<std::uint64_t>(target));
  auto file = SymbolFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.error().ToString();
  EXPECT_EQ(file->build_id().size(), 40U);
  const auto symbol = file->Lookup(file->AddressOfOffset(offset).value_or(0));
  ASSERT_TRUE(symbol.has_value());
  EXPECT_EQ(symbol->offset, 0U);
  // With underscores where the debug file of libc is installed.
  EXPECT_TRUE(symbol->name.ends_with("gnu_get_libc_version")) << symbol->name;
}

TEST(SymbolFile, RefusesWhatIsNoElf) {
  EXPECT_FALSE(SymbolFile::Open("/proc/version").ok());
  EXPECT_FALSE(SymbolFile::Open("/nonexistent").ok());
  EXPECT_FALSE(SymbolFile::OfImage({}).ok());
}

TEST(FindByBuildId, TakesNoPathsForIds) {
  EXPECT_TRUE(FindByBuildId("../../etc/passwd", true).empty());
  EXPECT_TRUE(FindByBuildId("", true).empty());
}

TEST(Demangle, CxxRustAndPlainNames) {
  EXPECT_EQ(Demangle("_ZN5torch8autograd6Engine11thread_mainERKi"),
            "torch::autograd::Engine::thread_main");
  EXPECT_EQ(Demangle("_ZN5torch8autograd6Engine11thread_mainERKi", NameStyle::kFull),
            "torch::autograd::Engine::thread_main(int const&)");
  EXPECT_EQ(Demangle("_RNvC6_123foo3bar"), "123foo::bar");
  EXPECT_EQ(Demangle("main"), "main");
  EXPECT_EQ(Demangle("memcpy@@GLIBC_2.14"), "memcpy@@GLIBC_2.14");
  EXPECT_EQ(Demangle("_Znwm@@GLIBCXX_3.4"), "operator new");
  EXPECT_EQ(Demangle("memcpy@plt"), "memcpy@plt");
  EXPECT_EQ(Demangle("_Z"), "_Z");
  EXPECT_EQ(Demangle(""), "");
}

TEST(ShortName, DropsParametersAndNothingElse) {
  EXPECT_EQ(ShortName("v8::Function::Call(v8::Handle<v8::Value>, int)"), "v8::Function::Call");
  EXPECT_EQ(ShortName("A::f(int (*)(char)) const"), "A::f");
  EXPECT_EQ(ShortName("(anonymous namespace)::f(int)"), "(anonymous namespace)::f");
  EXPECT_EQ(ShortName("a::(anonymous namespace)::f()"), "a::(anonymous namespace)::f");
  EXPECT_EQ(ShortName("Less::operator()(int, int) const"), "Less::operator()");
  EXPECT_EQ(ShortName("f(int)::g()"), "f::g");
  EXPECT_EQ(ShortName("run<void (int)>(int)"), "run<void (int)>");
  EXPECT_EQ(ShortName("a::{lambda(int)#1}::operator()(int) const"),
            "a::{lambda(int)#1}::operator()");
  EXPECT_EQ(ShortName("net/http.(*Client).Do"), "net/http.(*Client).Do");
  EXPECT_EQ(ShortName("operator<(A, B)"), "operator<");
  EXPECT_EQ(ShortName("A::operator->(int)"), "A::operator->");
  EXPECT_EQ(ShortName("cut(int, std::"), "cut");
  EXPECT_EQ(ShortName("main"), "main");
}

}  // namespace
}  // namespace culprit::symbols
