#include "symbols/kallsyms.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace culprit::symbols {
namespace {

constexpr std::string_view kText =
    "0000000000000000 A fixed_percpu_data\n"
    "ffffffff81000000 T _stext\n"
    "ffffffff81000000 T _text\n"
    "ffffffff81000100 t first\n"
    "ffffffff81000200 T second\n"
    "ffffffff81000200 W second_alias\n"
    "ffffffff82000000 D some_data\n"
    "ffffffffc0000010 t in_module\t[nvme]\n"
    "garbage line\n"
    "zzzz t bad_address\n"
    "ffffffff81000180 t between_not_sorted";

TEST(KernelSymbols, FindsTheFunctionOfAnAddress) {
  const auto symbols = KernelSymbols::Parse(kText).value();
  EXPECT_EQ(symbols.size(), 7U);
  EXPECT_EQ(symbols.text_start(), 0xffffffff81000000U);
  const auto first = symbols.Find(0xffffffff81000104);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->name, "first");
  EXPECT_EQ(first->module, "");
  EXPECT_EQ(first->offset, 4U);
  EXPECT_EQ(symbols.Find(0xffffffff81000180)->name, "between_not_sorted");
  EXPECT_EQ(symbols.Find(0xffffffff81000200)->name, "second") << "the first of two names";
  EXPECT_EQ(symbols.Find(0xffffffffc0000020)->module, "nvme");
  EXPECT_FALSE(symbols.Find(0xffffffff80ffffff).has_value()) << "below the first";
  EXPECT_FALSE(symbols.Find(0xfffffffff0000000).has_value()) << "far behind the last";
  EXPECT_FALSE(symbols.Find(0).has_value());
}

TEST(KernelSymbols, SaysThatAddressesAreHidden) {
  const auto symbols =
      KernelSymbols::Parse("0000000000000000 T _stext\n0000000000000000 t first\n");
  ASSERT_FALSE(symbols.ok());
  EXPECT_NE(symbols.error().what.find("kptr_restrict"), std::string::npos);
  EXPECT_FALSE(symbols.error().remedy.empty());
}

TEST(KernelSymbols, RefusesAnEmptyFile) { EXPECT_FALSE(KernelSymbols::Parse("").ok()); }

TEST(KernelSymbols, LoadsThisKernel) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to see kernel addresses";
  const auto symbols = KernelSymbols::Load("/");
  if (!symbols.ok() && symbols.error().what.find("kptr_restrict") != std::string::npos) {
    GTEST_SKIP() << symbols.error().ToString();
  }
  ASSERT_TRUE(symbols.ok()) << symbols.error().what;
  EXPECT_GT(symbols->size(), 1000U);
  EXPECT_EQ(symbols->Find(symbols->text_start())->offset, 0U);
}

}  // namespace
}  // namespace culprit::symbols
