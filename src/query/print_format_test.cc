#include "query/print_format.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

namespace culprit::query {
namespace {

PrintField Number(std::string key, std::int64_t value) {
  return {std::move(key), "", value, false};
}
PrintField Text(std::string key, std::string text) {
  return {std::move(key), std::move(text), 0, true};
}

// What is printed; "-" when the fields do not suffice, "?" when the format is not understood.
std::string Print(std::string_view print_fmt, const std::vector<PrintField>& fields,
                  std::string_view layout = "") {
  const auto format =
      PrintFormat::Parse(std::string(layout) + "\nprint fmt: " + std::string(print_fmt));
  if (!format.ok()) return "?";
  std::string out;
  return format->Print(fields, out) ? out : "-";
}

TEST(PrintFormat, NumbersAsPrintfPrintsThem) {
  const std::vector<PrintField> fields = {Number("a", -1), Number("b", 255)};
  EXPECT_EQ(Print(R"("%d %u %ld %lu", REC->a, REC->a, REC->a, REC->a)", fields),
            "-1 4294967295 -1 18446744073709551615");
  EXPECT_EQ(Print(R"("%x %#x %08lx %3d|%-5d|%05d %%", REC->b, REC->b, REC->b, 7, 7, 42)", fields),
            "ff 0xff 000000ff   7|7    |00042 %");
  EXPECT_EQ(Print(R"("%hhd %hd %c %03d", REC->b, REC->b, 'x', 5)", fields), "-1 255 x 005");
}

TEST(PrintFormat, TextsPointersAndMissingFields) {
  const std::vector<PrintField> fields = {Text("name", "eth0"), Text("function", "do_work"),
                                          Number("ptr", 0x1234)};
  EXPECT_EQ(Print(R"("dev=%s len=%-6s|", __get_str(name), REC->name)", fields),
            "dev=eth0 len=eth0  |");
  EXPECT_EQ(Print(R"("work %p: %ps %pS", REC->ptr, REC->function, (void *)REC->function)", fields),
            "work 0000000000001234: do_work do_work");
  EXPECT_EQ(Print(R"("%s", REC->nothing)", fields), "-");
  EXPECT_EQ(Print(R"("%pI4", REC->ptr)", fields), "-");
  EXPECT_EQ(Print(R"("%d", REC->name)", fields), "-");
}

TEST(PrintFormat, ExpressionsOfC) {
  const std::vector<PrintField> fields = {Number("f", 6), Number("u", 0xFFFFFFFF)};
  const auto value = [&](std::string_view expression) {
    return Print("\"%ld\", " + std::string(expression), fields);
  };
  EXPECT_EQ(value("1 + 2 * 3 - 4 / 2"), "5");
  EXPECT_EQ(value("(REC->f & 3) << 4 | 1"), "33");
  EXPECT_EQ(value("REC->f > 5 && REC->f <= 6 ? 10 : 20"), "10");
  EXPECT_EQ(value("REC->f == 6 ? REC->f != 6 ? 1 : 2 : 3"), "2");
  EXPECT_EQ(value("!REC->f || ~0x0UL == -1UL"), "1");
  EXPECT_EQ(value("(int)REC->u"), "-1");
  EXPECT_EQ(value("((unsigned int) ((REC->f) >> 1))"), "3");
  EXPECT_EQ(value("010 + 0x10"), "24");
  EXPECT_EQ(value("5 % 0"), "-");
  EXPECT_EQ(value("sizeof(int)"), "-");
  EXPECT_EQ(value("1 +"), "?");
  EXPECT_EQ(value("((((1)"), "?");
  EXPECT_EQ(value(std::string(5000, '(')), "?");
}

TEST(PrintFormat, SymbolsAndFlags) {
  const std::vector<PrintField> fields = {Number("vec", 2), Number("flags", 0x15)};
  const std::string symbols = R"({ 1, "TIMER" }, { 2, "NET_TX" }))";
  EXPECT_EQ(Print(R"("%s", __print_symbolic(REC->vec, )" + symbols, fields), "NET_TX");
  EXPECT_EQ(Print(R"("%s", __print_symbolic(REC->flags, )" + symbols, fields), "0x15");
  EXPECT_EQ(Print(R"("%s", __print_symbolic(REC->vec, { SOME_ENUM, "A" }, { 2, "B" }))", fields),
            "-");
  EXPECT_EQ(
      Print(R"("%s", __print_flags(REC->flags, "|", { 1, "A" }, { 4, "B" }, { 8, "C" }))", fields),
      "A|B|0x10");
  EXPECT_EQ(Print("\"%s\", (REC->flags & 2) ? __print_flags(REC->flags, \"|\", { 1, \"A\" }) : "
                  "\"none\"",
                  fields),
            "none");
}

// Arrays have a field for each element, and devices the numbers of stat(2).
TEST(PrintFormat, ArraysAndDevices) {
  EXPECT_EQ(Print(R"f("NR %ld (%lx, %lx)", REC->id, REC->args[0], REC->args[1 + 0])f",
                  {Number("id", 257), Number("args[0]", 0xFFFFFF9C), Number("args[1]", 16)}),
            "NR 257 (ffffff9c, 10)");
  EXPECT_EQ(Print(R"("%d,%d", ((unsigned int) ((REC->dev) >> 20)), )"
                  R"(((unsigned int) ((REC->dev) & ((1U << 20) - 1))))",
                  {Number("dev", static_cast<std::int64_t>(makedev(259, 300)))},
                  "\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;"),
            "259,300");
}

}  // namespace
}  // namespace culprit::query
