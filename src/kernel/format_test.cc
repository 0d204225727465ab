#include "kernel/format.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "kernel/tracefs.h"

namespace culprit::kernel {
namespace {

std::string KernelsPath() {
  const char* source = std::getenv("CULPRIT_SOURCE_DIR");
  EXPECT_NE(source, nullptr) << "run by ctest, or set CULPRIT_SOURCE_DIR";
  return std::string(source == nullptr ? "." : source) + "/tests/kernels/";
}

EventFormat Load(const std::string& kernel, const std::string& event) {
  const auto text = ReadFile(KernelsPath() + kernel + "/events/" + event + "/format");
  EXPECT_TRUE(text.ok()) << text.error().what;
  auto format = ParseEventFormat(text.value());
  EXPECT_TRUE(format.ok()) << format.error().what;
  return std::move(format).value();
}

// offset, size, kind, sign and element size of a field, as one comparable text.
std::string Shape(const EventFormat& format, const std::string& field_name) {
  const FormatField* field = format.Find(field_name);
  if (field == nullptr) return "absent";
  constexpr const char* kKinds[] = {"integer",       "pointer",      "string pointer", "fixed text",
                                    "tail text",     "dynamic text", "array",          "tail array",
                                    "dynamic array", "bytes"};
  return std::to_string(field->offset) + "+" + std::to_string(field->size) + " " +
         kKinds[static_cast<int>(field->kind)] + (field->is_signed ? " signed" : "") + " of " +
         std::to_string(field->element_bytes);
}

TEST(EventFormat, SchedSwitchOfEachKernel) {
  struct Expectation {
    const char* kernel;
    const char* prev_comm;
    const char* prev_state;
    const char* next_prio;
  };
  for (const auto& [kernel, prev_comm, prev_state, next_prio] : {
           Expectation{"2.6.32-x86_64", "12+16 fixed text signed of 1", "40+8 integer signed of 8",
                       "68+4 integer signed of 4"},
           Expectation{"3.10-x86_64", "8+16 fixed text signed of 1", "32+8 integer signed of 8",
                       "60+4 integer signed of 4"},
           Expectation{"4.4-x86_64", "8+16 fixed text signed of 1", "32+8 integer signed of 8",
                       "60+4 integer signed of 4"},
           Expectation{"4.9-arm", "8+16 fixed text of 1", "32+4 integer signed of 4",
                       "56+4 integer signed of 4"},
           Expectation{"6.1-x86_64", "8+16 fixed text signed of 1", "32+8 integer signed of 8",
                       "60+4 integer signed of 4"},
           Expectation{"6.18-x86_64", "8+16 fixed text of 1", "32+8 integer signed of 8",
                       "60+4 integer signed of 4"},
       }) {
    SCOPED_TRACE(kernel);
    const EventFormat format = Load(kernel, "sched/sched_switch");
    EXPECT_EQ(format.name, "sched_switch");
    EXPECT_GT(format.id, 0);
    EXPECT_EQ(format.fields.size(), 7U);
    EXPECT_EQ(Shape(format, "common_pid"), "4+4 integer signed of 4");
    EXPECT_EQ(Shape(format, "prev_comm"), prev_comm);
    EXPECT_EQ(Shape(format, "prev_state"), prev_state);
    EXPECT_EQ(Shape(format, "next_prio"), next_prio);
    EXPECT_EQ(format.print_fmt.find("\"prev_comm=%s"), 0U);
    EXPECT_TRUE(format.print_fmt.ends_with("REC->next_prio"));
  }
}

TEST(EventFormat, KindsOfFields) {
  const EventFormat fork = Load("6.18-x86_64", "sched/sched_process_fork");
  EXPECT_EQ(Shape(fork, "child_comm"), "16+4 dynamic text of 1");
  EXPECT_FALSE(fork.Find("child_comm")->is_relative);
  EXPECT_EQ(Shape(Load("4.4-x86_64", "sched/sched_process_fork"), "child_comm"),
            "28+16 fixed text signed of 1");
  EXPECT_EQ(Shape(Load("6.18-x86_64", "ftrace/print"), "buf"), "16+0 tail text of 1");
  EXPECT_EQ(Shape(Load("4.4-x86_64", "ftrace/print"), "buf"), "16+0 tail text signed of 1");
  EXPECT_EQ(Shape(Load("6.18-x86_64", "ftrace/kernel_stack"), "caller"), "16+64 array of 8");
  EXPECT_EQ(Shape(Load("3.10-x86_64", "ftrace/kernel_stack"), "caller"), "16+0 tail array of 8");
  EXPECT_EQ(Shape(Load("6.18-x86_64", "ftrace/bprint"), "fmt"), "16+8 string pointer of 8");
  EXPECT_EQ(Shape(Load("6.18-x86_64", "raw_syscalls/sys_enter"), "args"), "16+48 array of 8");
  EXPECT_EQ(Shape(Load("6.18-x86_64", "net/net_dev_xmit"), "skbaddr"), "8+8 pointer of 8");
  EXPECT_EQ(Shape(Load("6.18-x86_64", "ipi/ipi_send_cpumask"), "cpumask"),
            "8+4 dynamic array of 8");
  EXPECT_EQ(Shape(Load("6.18-x86_64", "sock/inet_sock_set_state"), "saddr"), "32+4 array of 1");
  const EventFormat issue = Load("2.6.32-x86_64", "block/block_rq_issue");
  EXPECT_EQ(Shape(issue, "rwbs"), "32+6 fixed text signed of 1") << "sign from the type";
  EXPECT_EQ(Shape(issue, "bytes"), "28+4 integer of 4");
  EXPECT_EQ(Shape(issue, "cmd"), "56+4 dynamic text signed of 1");
  EXPECT_EQ(issue.Find("dev")->type, "dev_t");
}

TEST(EventFormat, SpellingsOfDeclarations) {
  const auto shape = [](const std::string& declaration, int size, const std::string& name) {
    const auto format =
        ParseEventFormat("name: e\nID: 1\nformat:\n\tfield:" + declaration +
                         ";\toffset:8;\tsize:" + std::to_string(size) + ";\tsigned:0;\n");
    return format.ok() ? Shape(format.value(), name) : format.error().what;
  };
  EXPECT_EQ(shape("char[16] name", 16, "name"), "8+16 fixed text of 1");
  EXPECT_EQ(shape("__rel_loc char[] name", 4, "name"), "8+4 dynamic text of 1");
  EXPECT_EQ(shape("__data_loc u8[] buf", 4, "buf"), "8+4 dynamic array of 1");
  EXPECT_EQ(shape("__data_loc __u16[] buf", 4, "buf"), "8+4 dynamic array of 2");
  EXPECT_EQ(shape("const struct iovec * vec", 8, "vec"), "8+8 pointer of 8");
  EXPECT_EQ(shape("const char *name", 8, "name"), "8+8 string pointer of 8");
  EXPECT_EQ(shape("struct timespec ts", 16, "ts"), "8+16 bytes of 1");
  EXPECT_EQ(shape("struct big list[3]", 48, "list"), "8+48 bytes of 1");
  EXPECT_EQ(shape("bool on", 1, "on"), "8+1 integer of 1");
  EXPECT_EQ(shape("u32 values[SOME_MACRO]", 12, "values"), "8+12 array of 4");
  EXPECT_EQ(shape("unsigned long long x", 8, "x"), "8+8 integer of 8");
}

TEST(EventFormat, RefusesWhatIsNoFormat) {
  for (const char* text : {"", "name: x\n", "ID: 7\n", "name: x\nID: 70000\n", "name: x\nID: -1\n",
                           "name: x\nID: 1\n\tfield:int a;\tsize:4;\n",
                           "name: x\nID: 1\n\tfield:;\toffset:0;\tsize:4;\n",
                           "name: x\nID: 1\n\tfield:int a;\toffset:99999999999;\tsize:4;\n",
                           "name: x\nID: 1\n\tfield:__data_loc char[] a;\toffset:0;\tsize:8;\n"}) {
    EXPECT_FALSE(ParseEventFormat(text).ok()) << text;
  }
}

// Every format file of the running kernel: the fields lie inside each other's bounds as the kernel
// has laid them out.
TEST(EventFormat, ReadsEveryEventOfThisKernel) {
  const auto tracefs = Tracefs::FindOrMount();
  if (!tracefs.ok()) GTEST_SKIP() << "needs root and tracefs: " << tracefs.error().ToString();
  const std::filesystem::path events = tracefs->top().path() + "/events";
  std::error_code failure;
  std::size_t count = 0;
  std::filesystem::recursive_directory_iterator walk(events, failure);
  for (const auto& entry : walk) {
    if (entry.path().filename() != "format") continue;
    const auto text = ReadFile(entry.path());
    ASSERT_TRUE(text.ok()) << text.error().what;
    const auto format = ParseEventFormat(text.value());
    ASSERT_TRUE(format.ok()) << entry.path() << ": " << format.error().what;
    EXPECT_EQ(format->name, entry.path().parent_path().filename());
    ASSERT_EQ(format->common.size(), 4U);
    for (const FormatField& field : format->fields) {
      EXPECT_FALSE(field.name.empty()) << entry.path();
      EXPECT_GE(field.offset, 8U) << entry.path();
    }
    ++count;
  }
  if (count == 0) GTEST_SKIP() << "needs root to read " << events;
  EXPECT_GT(count, 100U);
}

TEST(PageLayout, OfEachKernel) {
  const auto load = [](const std::string& kernel) {
    return ParseHeaderPage(ReadFile(KernelsPath() + kernel + "/events/header_page").value())
        .value();
  };
  for (const char* kernel : {"2.6.32-x86_64", "4.4-x86_64", "6.1-x86_64", "6.18-x86_64"}) {
    const PageLayout layout = load(kernel);
    EXPECT_EQ(layout.timestamp_offset, 0U);
    EXPECT_EQ(layout.commit_offset, 8U);
    EXPECT_EQ(layout.commit_bytes, 8U);
    EXPECT_EQ(layout.data_offset, 16U);
  }
  const PageLayout arm = load("4.9-arm");
  EXPECT_EQ(arm.commit_bytes, 4U);
  EXPECT_EQ(arm.data_offset, 12U);
  EXPECT_FALSE(ParseHeaderPage("").ok());
  EXPECT_FALSE(ParseHeaderPage("\tfield: u64 timestamp;\toffset:0;\tsize:8;\n").ok());
}

TEST(RecordLayout, OfEachKernel) {
  for (const char* kernel : {"2.6.32-x86_64", "4.9-arm", "6.1-x86_64", "6.18-x86_64"}) {
    const auto layout =
        ParseHeaderEvent(ReadFile(KernelsPath() + kernel + "/events/header_event").value());
    ASSERT_TRUE(layout.ok()) << kernel << ": " << layout.error().what;
    EXPECT_EQ(layout->type_len_bits, 5U);
    EXPECT_EQ(layout->padding_type, 29U);
    EXPECT_EQ(layout->time_extend_type, 30U);
    EXPECT_EQ(layout->time_stamp_type, 31U);
    EXPECT_EQ(layout->data_max_type_len, 28U);
  }
  EXPECT_FALSE(ParseHeaderEvent("").ok());
  EXPECT_FALSE(ParseHeaderEvent("type_len : 2 bits\nlen : 3 bits\ntime_delta : 27 bits\n").ok());
}

}  // namespace
}  // namespace culprit::kernel
