// From ring pages to packets and back, on made-up pages and on pages of this machine's kernel,
// whose own text of the same events is the reference.
#include "capture/encode.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "capture/encode_fields.h"
#include "kernel/format.h"
#include "kernel/ring_page.h"
#include "kernel/tracefs.h"
#include "synthetic/ftrace_dump.h"
#include "synthetic/synthetic_spool.h"
#include "tracefile/fields.h"
#include "tracefile/task_state.h"

namespace culprit::capture {
namespace {

using synthetic::Dump;
using synthetic::DumpedEvent;
using synthetic::PageWriter;
using ::testing::ElementsAre;

struct Encoded {
  EncodeSummary summary;
  std::string bytes;
  Dump dump;
};

Encoded Encode(const FtraceSpool& spool, EncodeOptions options = {}, bool with_dump = true) {
  const std::string path = ::testing::TempDir() + "encode_test.pftrace";
  Encoded encoded;
  auto writer = tracefile::TraceWriter::Create(path).value();
  auto summary = EncodeFtrace(spool, writer, options);
  EXPECT_TRUE(summary.ok()) << summary.error().ToString();
  if (!summary.ok()) return encoded;
  encoded.summary = std::move(summary).value();
  EXPECT_TRUE(writer.Commit().ok());
  encoded.bytes = ReadFile(path).value();
  ::unlink(path.c_str());
  if (!with_dump) return encoded;
  encoded.dump = synthetic::DumpTrace(encoded.bytes);
  EXPECT_THAT(encoded.dump.faults, ElementsAre());
  return encoded;
}

CpuSpool MakeCpu(int cpu, const std::vector<std::string>& pages) {
  CpuSpool spool;
  spool.cpu = cpu;
  spool.pages = OpenNamelessFile(::testing::TempDir()).value();
  for (const std::string& page : pages) {
    EXPECT_TRUE(WriteAll(spool.pages.get(), page, "pages").ok());
  }
  spool.page_count = pages.size();
  return spool;
}

FtraceSpool MakeSpool(std::vector<EventFormatText> formats) {
  FtraceSpool spool;
  spool.header_page = synthetic::HeaderPage(4096);
  spool.header_event = synthetic::HeaderEvent();
  spool.formats = std::move(formats);
  return spool;
}

template <class T>
T At(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

std::string CommAt(std::span<const std::byte> bytes, std::size_t offset) {
  const char* text = reinterpret_cast<const char*>(bytes.data()) + offset;
  return {text, ::strnlen(text, 16)};
}

// What the pages of a synthetic spool hold, one line an event, in order of CPU and time.
std::vector<std::string> LinesOfPages(const FtraceSpool& spool, bool with_prev) {
  std::vector<std::string> lines;
  for (const CpuSpool& cpu : spool.cpus) {
    std::vector<std::byte> page(spool.page_bytes);
    for (std::uint64_t i = 0; i < cpu.page_count; ++i) {
      EXPECT_EQ(
          ::pread(cpu.pages.get(), page.data(), page.size(), static_cast<off_t>(i * page.size())),
          static_cast<ssize_t>(page.size()));
      kernel::RingPage ring(page, kernel::PageLayout{}, kernel::RecordLayout{});
      kernel::RingRecord record;
      while (ring.Next(record)) {
        std::string line = std::to_string(cpu.cpu) + " " + std::to_string(record.timestamp_ns);
        if (At<std::uint16_t>(record.data, 0) == synthetic::kSwitchId) {
          line += " switch ";
          if (with_prev) {
            line += CommAt(record.data, 8) + ":" +
                    std::to_string(At<std::int32_t>(record.data, 24)) + " -> ";
          }
          line += std::to_string(At<std::int64_t>(record.data, 32)) + " " +
                  CommAt(record.data, 40) + ":" +
                  std::to_string(At<std::int32_t>(record.data, 56)) + "/" +
                  std::to_string(At<std::int32_t>(record.data, 60));
        } else {
          line += " waking " + CommAt(record.data, 8) + ":" +
                  std::to_string(At<std::int32_t>(record.data, 24)) + "/" +
                  std::to_string(At<std::int32_t>(record.data, 28)) + " on " +
                  std::to_string(At<std::int32_t>(record.data, 32));
          if (!with_prev) line += " flags " + std::to_string(At<std::uint8_t>(record.data, 2));
        }
        lines.push_back(line);
      }
    }
  }
  return lines;
}

std::vector<std::string> LinesOfDump(const Dump& dump, bool with_prev) {
  std::vector<const DumpedEvent*> events;
  for (const DumpedEvent& event : dump.events) events.push_back(&event);
  std::stable_sort(events.begin(), events.end(), [](auto* a, auto* b) { return a->cpu < b->cpu; });
  std::vector<std::string> lines;
  for (const DumpedEvent* event : events) {
    auto fields = event->fields;
    std::string line = std::to_string(event->cpu) + " " + std::to_string(event->time_ns);
    if (event->name == "sched_switch") {
      line += " switch ";
      if (with_prev) line += fields["prev_comm"] + ":" + fields["prev_pid"] + " -> ";
      line += fields["prev_state"] + " " + fields["next_comm"] + ":" + fields["next_pid"] + "/" +
              fields["next_prio"];
    } else {
      line += " waking " + fields["comm"] + ":" + fields["pid"] + "/" + fields["prio"] + " on " +
              fields["target_cpu"];
      // Only the columns have a place for the flags.
      if (!with_prev) line += " flags " + fields["common_flags"];
    }
    lines.push_back(line);
  }
  return lines;
}

TEST(EncodeFtrace, KeepsEverySchedulingEventInColumns) {
  const auto spool =
      synthetic::MakeSpool({.events = 60'000, .cpus = 3, .directory = ::testing::TempDir()})
          .value();
  const Encoded encoded = Encode(spool);
  EXPECT_EQ(encoded.summary.total_events, 60'000U);
  EXPECT_EQ(encoded.summary.events.at("sched/sched_switch") +
                encoded.summary.events.at("sched/sched_waking"),
            60'000U);
  EXPECT_EQ(encoded.summary.parse_errors, 0U);
  EXPECT_EQ(encoded.summary.cpus.size(), 3U);
  EXPECT_EQ(encoded.summary.cpus[1].events, 20'000U);
  EXPECT_EQ(LinesOfDump(encoded.dump, false), LinesOfPages(spool, false));
  // All but the first switch of each CPU, whose predecessor only the full event tells.
  const auto full = std::count_if(encoded.dump.events.begin(), encoded.dump.events.end(),
                                  [](const DumpedEvent& event) { return !event.is_compact; });
  EXPECT_EQ(full, 3);
  EXPECT_TRUE(
      std::is_sorted(encoded.dump.bundle_starts_ns.begin(), encoded.dump.bundle_starts_ns.end()))
      << "bundles of the CPUs interleave in order of time";
  EXPECT_EQ(encoded.dump.formats.at("sched/sched_switch"), synthetic::SwitchFormat().format);
}

TEST(EncodeFtrace, WritesFullEventsWhenAsked) {
  const auto spool =
      synthetic::MakeSpool({.events = 5'000, .cpus = 2, .directory = ::testing::TempDir()}).value();
  EncodeOptions options;
  options.compact_sched = false;
  const Encoded encoded = Encode(spool, options);
  EXPECT_EQ(LinesOfDump(encoded.dump, true), LinesOfPages(spool, true));
  EXPECT_TRUE(std::none_of(encoded.dump.events.begin(), encoded.dump.events.end(),
                           [](const DumpedEvent& event) { return event.is_compact; }));
}

TEST(EncodeFtrace, GivesTheSameBytesOnAnyNumberOfThreads) {
  const auto spool =
      synthetic::MakeSpool({.events = 200'000, .cpus = 5, .directory = ::testing::TempDir()})
          .value();
  EncodeOptions one;
  one.threads = 1;
  EncodeOptions four;
  four.threads = 4;
  const std::string expected = Encode(spool, one, false).bytes;
  EXPECT_TRUE(Encode(spool, four, false).bytes == expected);
  EXPECT_TRUE(Encode(spool, four, false).bytes == expected);
}

TEST(EncodeFtrace, ReadsLargeSubBuffers) {
  const auto spool =
      synthetic::MakeSpool(
          {.events = 30'000, .cpus = 2, .page_bytes = 65536, .directory = ::testing::TempDir()})
          .value();
  EXPECT_EQ(LinesOfDump(Encode(spool).dump, false), LinesOfPages(spool, false));
}

TEST(EncodeFtrace, MarksWhereEventsWereLost) {
  const auto record = [](int prev, int next) {
    return synthetic::Bytes(synthetic::SwitchRecord{.prev_comm = "prev",
                                                    .prev_pid = prev,
                                                    .prev_state = 1,
                                                    .next_comm = "next",
                                                    .next_pid = next});
  };
  PageWriter first(4096, 1000), second(4096, 9000), third(4096, 20000);
  first.Add(1000, record(1, 2));
  first.Add(2000, record(2, 3));
  second.SetLost(55);
  second.Add(9100, record(7, 8));
  second.Add(9200, record(8, 9));
  third.Add(20000, record(9, 1));
  auto spool = MakeSpool({synthetic::SwitchFormat()});
  spool.cpus.push_back(MakeCpu(2, {first.Finish(), second.Finish(), third.Finish()}));
  spool.cpus.back().at_end.overrun = 55;
  spool.unknown_events = {"no/such_event"};
  const Encoded encoded = Encode(spool);

  ASSERT_EQ(encoded.summary.cpus.size(), 1U);
  const CpuEncodeSummary& cpu = encoded.summary.cpus[0];
  EXPECT_EQ(cpu.lost_events, 55U);
  ASSERT_EQ(cpu.gaps.size(), 1U);
  EXPECT_EQ(cpu.gaps[0].begin, TimeNs{2000});
  EXPECT_EQ(cpu.gaps[0].end, TimeNs{9100});
  EXPECT_EQ(cpu.first, TimeNs{1000});
  EXPECT_EQ(cpu.last, TimeNs{20000});

  ASSERT_EQ(encoded.dump.gaps.size(), 1U);
  EXPECT_EQ(encoded.dump.gaps[0].cpu, 2);
  EXPECT_EQ(encoded.dump.gaps[0].begin_ns, 2000U);
  EXPECT_EQ(encoded.dump.gaps[0].end_ns, 9100U);
  EXPECT_EQ(encoded.dump.gaps[0].events, 55U);
  EXPECT_EQ(encoded.dump.overrun_at_end.at(2), 55U);
  EXPECT_THAT(encoded.dump.unknown_events, ElementsAre("no/such_event"));
  ASSERT_EQ(encoded.dump.events.size(), 5U);
  const DumpedEvent& after = encoded.dump.events[2];
  EXPECT_TRUE(after.is_first_after_loss);
  EXPECT_FALSE(after.is_compact);
  EXPECT_EQ(after.fields.at("prev_pid"), "7") << "who ran before the gap's end is told";
}

// The switch to thread 7 was not recorded: whom it woke is told by the full event alone.
TEST(EncodeFtrace, TellsTheWakerWhereASwitchIsMissing) {
  const auto switched = [](int prev, int next) {
    return synthetic::Bytes(synthetic::SwitchRecord{
        .prev_comm = "a", .prev_pid = prev, .prev_state = 1, .next_comm = "b", .next_pid = next});
  };
  const auto woken = [](int by, std::uint8_t flags) {
    return synthetic::Bytes(
        synthetic::WakingRecord{.common_pid = by, .comm = "w", .pid = 50, .common_flags = flags});
  };
  PageWriter page(4096, 1000);
  page.Add(1000, switched(1, 2));
  page.Add(1100, woken(2, 0));
  page.Add(1200, switched(2, 0));
  page.Add(1300, woken(7, 0));
  page.Add(1400, woken(7, 0x08));  // in an interrupt: its flags are worth more than the thread
  page.Add(1500, switched(7, 2));
  page.Add(1600, woken(2, 0));
  auto spool = MakeSpool({synthetic::SwitchFormat(), synthetic::WakingFormat()});
  spool.cpus.push_back(MakeCpu(0, {page.Finish()}));
  const Encoded encoded = Encode(spool);

  std::map<std::uint64_t, const DumpedEvent*> at;
  for (const DumpedEvent& event : encoded.dump.events) at[event.time_ns] = &event;
  ASSERT_EQ(at.size(), 7U);
  EXPECT_TRUE(at[1100]->is_compact);
  EXPECT_FALSE(at[1300]->is_compact);
  EXPECT_EQ(at[1300]->name, "sched_waking");
  EXPECT_EQ(at[1300]->pid, 7U);
  EXPECT_EQ(at[1300]->fields.at("pid"), "50");
  EXPECT_TRUE(at[1400]->is_compact);
  EXPECT_FALSE(at[1500]->is_compact);
  EXPECT_TRUE(at[1600]->is_compact);
}

TEST(EncodeFtrace, CountsWhatItCannotDecodeAndGoesOn) {
  const auto good = synthetic::Bytes(synthetic::SwitchRecord{.next_comm = "n", .next_pid = 5});
  PageWriter first(4096, 10);
  first.Add(10, good);
  std::string unknown_id = good;
  unknown_id[0] = 99;
  first.Add(11, unknown_id);
  first.Add(12, good.substr(0, 40));
  first.Add(13, std::string("\x2d\x01\0\0", 4));
  first.Add(14, good);
  std::string broken = first.Finish();
  broken[8] = static_cast<char>(0xff);
  broken[9] = static_cast<char>(0xff);
  PageWriter last(4096, 30);
  last.Add(30, good);
  auto spool = MakeSpool({synthetic::SwitchFormat(), {"odd", "event", "not a format"}});
  spool.cpus.push_back(MakeCpu(0, {first.Finish(), broken, last.Finish()}));
  const Encoded encoded = Encode(spool);
  EXPECT_EQ(encoded.summary.total_events, 3U);
  EXPECT_EQ(encoded.summary.parse_errors, 5U) << "3 records, a page and a format";
  EXPECT_EQ(encoded.summary.cpus[0].bad_pages, 1U);
  EXPECT_FALSE(encoded.summary.error_samples.empty());
  EXPECT_THAT(encoded.dump.error_statuses,
              ::testing::UnorderedElementsAre(tracefile::FtraceParseStatus::kInvalidEvent,
                                              tracefile::FtraceParseStatus::kAbiShortEventId,
                                              tracefile::FtraceParseStatus::kAbiInvalidPageHeader));
  EXPECT_EQ(encoded.dump.events.size(), 3U);
}

TEST(EncodeFtrace, RefusesASpoolThatItCannotRead) {
  auto spool = MakeSpool({synthetic::SwitchFormat()});
  spool.cpus.push_back(MakeCpu(0, {std::string(4096, '\0')}));
  spool.cpus.back().page_count = 2;
  auto writer = tracefile::TraceWriter::Create(::testing::TempDir() + "short.pftrace").value();
  const auto short_spool = EncodeFtrace(spool, writer, {});
  ASSERT_FALSE(short_spool.ok());
  EXPECT_NE(short_spool.error().what.find("ends before"), std::string::npos);
  spool.header_page.clear();
  EXPECT_FALSE(EncodeFtrace(spool, writer, {}).ok());
}

// A record of an event whose format is given as (declaration, offset, size, signed) lines.
class RecordBuilder {
 public:
  explicit RecordBuilder(std::uint16_t id) : bytes_(8, '\0') { Set(0, id); }
  template <class T>
  RecordBuilder& Set(std::size_t offset, T value) {
    if (bytes_.size() < offset + sizeof(value)) bytes_.resize(offset + sizeof(value));
    std::memcpy(bytes_.data() + offset, &value, sizeof(value));
    return *this;
  }
  RecordBuilder& Text(std::size_t offset, std::string_view text) {
    if (bytes_.size() < offset + text.size()) bytes_.resize(offset + text.size());
    std::memcpy(bytes_.data() + offset, text.data(), text.size());
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

EventFormatText Format(const std::string& group, const std::string& name, int id,
                       const std::vector<std::string>& fields) {
  std::string text = "name: " + name + "\nID: " + std::to_string(id) +
                     "\nformat:\n"
                     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                     "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
  for (const std::string& field : fields) text += "\tfield:" + field + ";\n";
  return {group, name, text + "\nprint fmt: \"\"\n"};
}

class FakeRoot {
 public:
  explicit FakeRoot(const std::string& kallsyms) {
    path_ = ::testing::TempDir() + "encode_root";
    std::filesystem::create_directories(path_ + "/proc");
    const UniqueFd fd =
        OpenFile(path_ + "/proc/kallsyms", O_CREAT | O_TRUNC | O_WRONLY, 0600).value();
    EXPECT_TRUE(WriteAll(fd.get(), kallsyms, "kallsyms").ok());
  }
  ~FakeRoot() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(EncodeFtrace, WritesTypedEventsByFieldName) {
  const FakeRoot root("ffffffff81000000 T _stext\nffffffff81000400 t my_work_fn\n");
  PageWriter page(4096, 100);
  page.Add(100, RecordBuilder(10)
                    .Set(4, std::int32_t{77})
                    .Set(8, std::uint32_t{(259U << 20) | 300})
                    .Set(16, std::uint64_t{123456})
                    .Set(24, std::uint32_t{8})
                    .Set(28, std::int32_t{-5})
                    .Text(32, std::string_view("WS\0junk\0", 8))
                    .Set(40, std::uint32_t{4U << 16 | 44})
                    .Text(44, std::string_view("cmd\0", 4))
                    .bytes());
  page.Add(101, RecordBuilder(11)
                    .Set(8, std::uint64_t{0xffff888000001000})
                    .Set(16, std::uint64_t{0xffffffff81000400})
                    .bytes());
  page.Add(102, RecordBuilder(12).Set(8, std::uint64_t{1}).Text(16, "B|1|work\n\0\0\0\0").bytes());
  page.Add(103, RecordBuilder(13)
                    .Set(8, std::int64_t{202})
                    .Set(16, std::uint64_t{1})
                    .Set(24, std::uint64_t{2})
                    .bytes());
  auto spool = MakeSpool({
      Format("block", "block_rq_complete", 10,
             {"dev_t dev;\toffset:8;\tsize:4;\tsigned:0",
              "sector_t sector;\toffset:16;\tsize:8;\tsigned:0",
              "unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0",
              "int errors;\toffset:28;\tsize:4;\tsigned:1",
              "char rwbs[8];\toffset:32;\tsize:8;\tsigned:0",
              "__data_loc char[] cmd;\toffset:40;\tsize:4;\tsigned:0"}),
      Format("workqueue", "workqueue_execute_start", 11,
             {"void * work;\toffset:8;\tsize:8;\tsigned:0",
              "void * function;\toffset:16;\tsize:8;\tsigned:0"}),
      Format("ftrace", "print", 12,
             {"unsigned long ip;\toffset:8;\tsize:8;\tsigned:0",
              "char buf[];\toffset:16;\tsize:0;\tsigned:0"}),
      Format("raw_syscalls", "sys_enter", 13,
             {"long id;\toffset:8;\tsize:8;\tsigned:1",
              "unsigned long args[2];\toffset:16;\tsize:16;\tsigned:0"}),
  });
  spool.cpus.push_back(MakeCpu(0, {page.Finish()}));
  EncodeOptions options;
  options.root = root.path();
  const Encoded encoded = Encode(spool, options);
  EXPECT_EQ(encoded.summary.parse_errors, 0U);
  ASSERT_EQ(encoded.dump.events.size(), 4U);
  const DumpedEvent& block = encoded.dump.events[0];
  EXPECT_EQ(block.name, "block_rq_complete");
  EXPECT_EQ(block.pid, 77U);
  // makedev(259, 300) of sys/sysmacros.h.
  EXPECT_EQ(block.fields.at("dev"),
            std::to_string((259U << 8) | (300 & 0xff) | (300 & 0xff00) << 12));
  EXPECT_EQ(block.fields.at("sector"), "123456");
  EXPECT_EQ(block.fields.at("errors"), "-5");
  EXPECT_EQ(block.fields.at("rwbs"), "WS");
  EXPECT_EQ(block.fields.at("cmd"), "cmd");
  EXPECT_EQ(encoded.dump.events[1].fields.at("function"), "my_work_fn");
  EXPECT_EQ(encoded.dump.events[1].fields.at("work"), std::to_string(0xffff888000001000));
  EXPECT_EQ(encoded.dump.events[2].fields.at("buf"), "B|1|work\n");
  EXPECT_EQ(encoded.dump.events[2].fields.count("ip"), 0U);
  EXPECT_EQ(encoded.dump.events[3].fields.at("args"), "1 2");
}

TEST(EncodeFtrace, WritesOtherTracepointsWithTheirFieldNames) {
  PageWriter page(4096, 100);
  page.Add(100, RecordBuilder(20)
                    .Set(8, std::int32_t{-3})
                    .Set(12, std::uint32_t{4000000000U})
                    .Text(16, std::string_view("\x7f\x00\x00\x01", 4))
                    .Set(20, std::uint16_t{7})
                    .Set(22, std::uint16_t{8})
                    .Set(24, std::uint32_t{6U << 16 | 2})
                    .Set(32, std::uint64_t{0x1234})
                    .Text(30, std::string_view("r\0", 2))
                    .Text(40, std::string_view("tail\0\0\0\0", 8))
                    .bytes());
  // The place of the text lies behind the record.
  page.Add(101, RecordBuilder(20).Set(24, std::uint32_t{6U << 16 | 60000}).Set(40, 0).bytes());
  auto spool = MakeSpool({Format(
      "my", "event", 20,
      {"int a;\toffset:8;\tsize:4;\tsigned:1", "unsigned int b;\toffset:12;\tsize:4;\tsigned:0",
       "__u8 addr[4];\toffset:16;\tsize:4;\tsigned:0",
       "u16 pair[2];\toffset:20;\tsize:4;\tsigned:0",
       "__rel_loc char[] rel;\toffset:24;\tsize:4;\tsigned:0",
       "const char * fmt;\toffset:32;\tsize:8;\tsigned:0",
       "char rest[];\toffset:40;\tsize:0;\tsigned:0"})});
  spool.printk_formats = "0x1234 : \"known text\"\n0xzz : \"bad\"\n";
  spool.cpus.push_back(MakeCpu(0, {page.Finish()}));
  const Encoded encoded = Encode(spool);
  ASSERT_EQ(encoded.dump.events.size(), 2U);
  const DumpedEvent& event = encoded.dump.events[0];
  EXPECT_TRUE(event.is_generic);
  EXPECT_EQ(event.name, "event");
  const std::map<std::string, std::string> expected = {
      {"a", "-3"},      {"b", "4000000000"}, {"addr", "7f 00 00 01"}, {"pair[0]", "7"},
      {"pair[1]", "8"}, {"rel", "r"},        {"fmt", "known text"},   {"rest", "tail"}};
  EXPECT_EQ(event.fields, expected);
  EXPECT_EQ(encoded.summary.parse_errors, 1U);
  EXPECT_EQ(encoded.dump.events[1].fields.count("rel"), 0U);
  EXPECT_EQ(encoded.dump.events[1].fields.at("a"), "0");
}

TEST(EncodeFtrace, InternsKernelStacks) {
  const FakeRoot root(
      "ffffffff81000000 T _stext\nffffffff81000100 t __traceiter_sched_switch\n"
      "ffffffff81000200 t __schedule\nffffffff81000300 t io_schedule\nffffffffc0000000 t "
      "wait\t[mod]\n");
  const auto stack = [](std::vector<std::uint64_t> addresses) {
    RecordBuilder record(30);
    record.Set(4, std::int32_t{42}).Set(8, static_cast<std::int32_t>(addresses.size()));
    for (std::size_t i = 0; i < addresses.size(); ++i) record.Set(16 + i * 8, addresses[i]);
    return record.bytes();
  };
  PageWriter page(4096, 100);
  page.Add(100,
           stack({0xffffffff81000110, 0xffffffff81000210, 0xffffffff81000310, 0xffffffffc0000010}));
  page.Add(101, stack({0xffffffff81000210, 0x1000}));
  page.Add(102, stack({0xffffffff81000210, ~0ULL, 0xffffffff81000310}));
  // More entries than the eight of the declared array.
  page.Add(103, stack(std::vector<std::uint64_t>(12, 0xffffffff81000210)));
  auto spool = MakeSpool({Format("ftrace", "kernel_stack", 30,
                                 {"int size;\toffset:8;\tsize:4;\tsigned:1",
                                  "unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0"})});
  spool.cpus.push_back(MakeCpu(1, {page.Finish()}));
  EncodeOptions options;
  options.root = root.path();
  const Encoded encoded = Encode(spool, options);
  EXPECT_EQ(encoded.summary.kernel_stacks, 4U);
  EXPECT_EQ(encoded.summary.symbols_missing, "");
  ASSERT_EQ(encoded.dump.events.size(), 4U);
  EXPECT_EQ(encoded.dump.events[0].pid, 42U);
  EXPECT_THAT(encoded.dump.events[0].stack, ElementsAre("__schedule", "io_schedule", "wait"))
      << "the tracing's own frame is left out";
  EXPECT_THAT(encoded.dump.events[1].stack, ElementsAre("__schedule", "?"));
  EXPECT_THAT(encoded.dump.events[2].stack, ElementsAre("__schedule"));
  EXPECT_EQ(encoded.dump.events[3].stack.size(), 12U);

  const FakeRoot hidden("0000000000000000 T _stext\n");
  options.root = hidden.path();
  const Encoded nameless = Encode(spool, options);
  EXPECT_NE(nameless.summary.symbols_missing.find("kptr_restrict"), std::string::npos);
  EXPECT_THAT(nameless.dump.events[2].stack, ElementsAre("?"));
}

// sched_switch as each kernel lays it out: what is put where its format says comes out, in columns
// and in full, with the state as its print fmt has it.
TEST(EncodeFtrace, FollowsTheFormatOfEachKernel) {
  const char* source = std::getenv("CULPRIT_SOURCE_DIR");
  ASSERT_NE(source, nullptr) << "run by ctest, or set CULPRIT_SOURCE_DIR";
  struct Kernel {
    const char* name;
    std::int64_t prev_state;
    const char* state;
  };
  for (const auto& [name, prev_state, state] :
       {Kernel{"2.6.32-x86_64", 64, "x"}, Kernel{"3.10-x86_64", 1024, "R+"},
        Kernel{"4.4-x86_64", 2 + 128, "DK"}, Kernel{"4.9-arm", 4096, "R+"},
        Kernel{"4.14-x86_64", 256, "R+"}, Kernel{"5.4-x86_64", 128, "I"},
        Kernel{"6.1-x86_64", 16, "X"}, Kernel{"6.18-x86_64", 2, "D"}}) {
    SCOPED_TRACE(name);
    const std::string events = std::string(source) + "/tests/kernels/" + name + "/events/";
    const std::string text = ReadFile(events + "sched/sched_switch/format").value();
    const auto format = kernel::ParseEventFormat(text).value();
    std::string record(format.Find("next_prio")->offset + 4, '\0');
    const auto put = [&](const char* field_name, std::int64_t value) {
      const kernel::FormatField* field = format.Find(field_name);
      std::memcpy(record.data() + field->offset, &value, field->size);
    };
    put("common_type", format.id);
    put("common_pid", 41);
    put("prev_pid", 41);
    put("prev_prio", 120);
    put("prev_state", prev_state);
    put("next_pid", 42);
    put("next_prio", -1);
    std::memcpy(record.data() + format.Find("prev_comm")->offset, "from", 4);
    // A name that fills its place has no NUL.
    std::memcpy(record.data() + format.Find("next_comm")->offset, "sixteen-letters!", 16);

    FtraceSpool spool = MakeSpool({{"sched", "sched_switch", text}});
    const bool is_32_bit = std::string_view(name).ends_with("-arm");
    if (PathExists(events + "header_page")) {
      spool.header_page = ReadFile(events + "header_page").value();
      spool.header_event = ReadFile(events + "header_event").value();
    }
    PageWriter page(4096, 1000, is_32_bit ? 4 : 8);
    page.Add(1000, record);
    put("prev_pid", 42);
    page.Add(1500, record);
    put("prev_pid", 43);  // a switch to 43 is missing before this one: who left is written in full
    page.Add(1600, record);
    spool.cpus.push_back(MakeCpu(0, {page.Finish()}));
    const Encoded encoded = Encode(spool);
    EXPECT_EQ(encoded.summary.parse_errors, 0U);
    ASSERT_EQ(encoded.dump.events.size(), 3U);
    EXPECT_FALSE(encoded.dump.events[2].is_compact);
    EXPECT_EQ(encoded.dump.events[2].fields.at("prev_pid"), "43");
    const DumpedEvent& full = encoded.dump.events[0];
    EXPECT_EQ(full.pid, 41U);
    EXPECT_EQ(full.fields.at("prev_comm"), "from");
    EXPECT_EQ(full.fields.at("prev_prio"), "120");
    const DumpedEvent& compact = encoded.dump.events[1];
    EXPECT_TRUE(compact.is_compact);
    EXPECT_EQ(compact.time_ns, 1500U);
    const auto states =
        tracefile::TaskStates::FromFormat(encoded.dump.formats.at("sched/sched_switch"));
    ASSERT_TRUE(states.has_value());
    for (const DumpedEvent* event : {&full, &compact}) {
      EXPECT_EQ(event->fields.at("next_pid"), "42");
      EXPECT_EQ(event->fields.at("next_prio"), "-1");
      EXPECT_EQ(event->fields.at("next_comm"), "sixteen-letters!");
      EXPECT_EQ(states->Text(std::stoll(event->fields.at("prev_state"))), state);
    }
  }
}

TEST(UserDevice, IsWhatStatSays) {
  EXPECT_EQ(UserDevice(8U << 20 | 1), 0x801U);               // sda1
  EXPECT_EQ(UserDevice(259U << 20 | 0x12345), 0x12310345U);  // major 259: bits 8 to 19
}

// ---- this machine's kernel ----

class Instance {
 public:
  Instance() {
    const auto tracefs = kernel::Tracefs::FindOrMount();
    if (!tracefs.ok()) return;
    top_ = tracefs->top().path();
    path_ = top_ + "/instances/culprit_encode_test";
    std::error_code failure;
    made_ = std::filesystem::create_directory(path_, failure);
  }
  ~Instance() {
    if (!made_) return;
    static_cast<void>(WriteControlFile(File("tracing_on"), "0"));
    static_cast<void>(WriteControlFile(File("events/enable"), "0"));
    static_cast<void>(WriteControlFile(File("events/sched/sched_switch/trigger"), "!stacktrace"));
    ::rmdir(path_.c_str());
  }
  bool made() const { return made_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  std::string Events() const { return top_ + "/events/"; }

 private:
  std::string top_, path_;
  bool made_ = false;
};

// One line of the instance's `trace` file.
struct TextLine {
  std::uint64_t time_us = 0;
  std::string event;  // "sched_switch: prev_comm=..."
};

// "   comm-123    [001] d..2.  2798.926905: sched_switch: prev_comm=..."
std::optional<std::pair<int, TextLine>> ParseLine(std::string_view line) {
  for (std::size_t open = line.find(" ["); open != std::string_view::npos;
       open = line.find(" [", open + 1)) {
    const std::size_t close = line.find("] ", open);
    if (close == std::string_view::npos) return std::nullopt;
    const auto cpu = ParseInteger<int>(line.substr(open + 2, close - open - 2));
    if (!cpu) continue;
    const std::size_t colon = line.find(": ", close);
    if (colon == std::string_view::npos) return std::nullopt;
    const auto words = SplitWords(line.substr(close + 2, colon - close - 2));
    const auto parts = Split(words.back(), '.');
    if (parts.size() != 2) continue;
    const auto seconds = ParseInteger<std::uint64_t>(parts[0]);
    const auto micros = ParseInteger<std::uint64_t>(parts[1]);
    if (!seconds || !micros) continue;
    return std::pair{*cpu,
                     TextLine{*seconds * 1'000'000 + *micros, std::string(line.substr(colon + 2))}};
  }
  return std::nullopt;
}

// The text that the kernel prints for an event, from what the trace file holds of it.
std::string KernelText(const DumpedEvent& event, const tracefile::TaskStates& states) {
  auto field = event.fields;
  if (event.name == "sched_switch") {
    std::string state = states.Text(std::stoll(field["prev_state"]));
    return "sched_switch: prev_comm=" + field["prev_comm"] + " prev_pid=" + field["prev_pid"] +
           " prev_prio=" + field["prev_prio"] + " prev_state=" + state +
           " ==> next_comm=" + field["next_comm"] + " next_pid=" + field["next_pid"] +
           " next_prio=" + field["next_prio"];
  }
  if (event.name == "sched_waking") {
    char cpu[16];
    std::snprintf(cpu, sizeof(cpu), "%03d", std::stoi(field["target_cpu"]));
    return "sched_waking: comm=" + field["comm"] + " pid=" + field["pid"] +
           " prio=" + field["prio"] + " target_cpu=" + cpu;
  }
  if (event.name == "irq_handler_entry") {
    return "irq_handler_entry: irq=" + field["irq"] + " name=" + field["name"];
  }
  if (event.name == "irq_handler_exit") {
    return "irq_handler_exit: irq=" + field["irq"] +
           " ret=" + (field["ret"] == "0" ? "unhandled" : "handled");
  }
  if (event.name == "sched_process_fork") {
    return "sched_process_fork: comm=" + field["parent_comm"] + " pid=" + field["parent_pid"] +
           " child_comm=" + field["child_comm"] + " child_pid=" + field["child_pid"];
  }
  if (event.name == "sched_process_exit") return "sched_process_exit: comm=" + field["comm"];
  if (event.name == "sched_wake_idle_without_ipi") {
    return "sched_wake_idle_without_ipi: cpu=" + field["cpu"];
  }
  if (event.name == "sched_stat_runtime") {
    return "sched_stat_runtime: comm=" + field["comm"] + " pid=" + field["pid"] +
           " runtime=" + field["runtime"] + " [ns]";
  }
  return event.name + ":";
}

// Work that switches, wakes, forks, and waits for the disk.
void MakeEvents() {
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    int status = 0;
    ::waitpid(child, &status, 0);
  }
  const std::string path = ::testing::TempDir() + "encode_test.data";
  const UniqueFd fd = OpenFile(path, O_CREAT | O_RDWR | O_TRUNC, 0600).value();
  for (int i = 0; i < 30; ++i) {
    EXPECT_TRUE(WriteAll(fd.get(), std::string(4096, 'x'), path).ok());
    ::fsync(fd.get());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::unlink(path.c_str());
}

TEST(EncodeFtrace, AgreesWithTheKernelsOwnText) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root for a tracefs instance";
  Instance instance;
  if (!instance.made()) GTEST_SKIP() << "needs a tracefs that can be mounted and written";
  const std::string events = instance.Events();
  ASSERT_TRUE(WriteControlFile(instance.File("trace_clock"), "boot").ok());
  ASSERT_TRUE(WriteControlFile(instance.File("buffer_size_kb"), "4096").ok());
  const bool has_stacks = WriteControlFile(instance.File("events/sched/sched_switch/trigger"),
                                           "stacktrace if prev_state == 2")
                              .ok();
  const std::vector<std::pair<std::string, std::string>> enabled = {
      {"sched", "sched_switch"},
      {"sched", "sched_waking"},
      {"sched", "sched_process_fork"},
      {"sched", "sched_stat_runtime"},
      {"irq", "irq_handler_entry"},
      {"irq", "irq_handler_exit"},
      {"sched", "sched_wake_idle_without_ipi"}};
  for (const auto& [group, name] : enabled) {
    ASSERT_TRUE(
        WriteControlFile(instance.File("events/" + group + "/" + name + "/enable"), "1").ok());
  }
  MakeEvents();
  ASSERT_TRUE(WriteControlFile(instance.File("tracing_on"), "0").ok());

  FtraceSpool spool;
  spool.header_page = ReadFile(events + "header_page").value();
  spool.header_event = ReadFile(events + "header_event").value();
  for (const auto& [group, name] : enabled) {
    spool.formats.push_back(
        {group, name, ReadFile(events + group + "/" + name + "/format").value()});
  }
  spool.formats.push_back(
      {"ftrace", "kernel_stack", ReadFile(events + "ftrace/kernel_stack/format").value()});

  // The kernel's text first: it does not consume the ring.
  std::map<int, std::vector<TextLine>> text;
  std::vector<std::string> text_stacks;  // "function|function|..." in order of the file
  const std::string trace = ReadFile(instance.File("trace")).value();
  for (const std::string_view line : SplitLines(trace)) {
    if (line.starts_with(" => ")) {
      ASSERT_FALSE(text_stacks.empty());
      text_stacks.back() += "|" + std::string(line.substr(4));
      continue;
    }
    const auto parsed = ParseLine(line);
    if (!parsed) continue;
    text[parsed->first].push_back(parsed->second);
    if (parsed->second.event.starts_with("<stack trace>")) text_stacks.emplace_back();
  }
  for (int cpu = 0; PathExists(instance.File("per_cpu/cpu" + std::to_string(cpu))); ++cpu) {
    const UniqueFd raw =
        OpenFile(instance.File("per_cpu/cpu" + std::to_string(cpu) + "/trace_pipe_raw"),
                 O_RDONLY | O_NONBLOCK)
            .value();
    std::vector<std::string> pages;
    std::string page(4096, '\0');
    while (::read(raw.get(), page.data(), page.size()) == 4096) pages.push_back(page);
    spool.cpus.push_back(MakeCpu(cpu, pages));
  }

  EncodeOptions options;
  options.compact_sched = false;
  const Encoded encoded = Encode(spool, options);
  EXPECT_EQ(encoded.summary.parse_errors, 0U);
  const auto states = tracefile::TaskStates::FromFormat(spool.formats[0].format).value();
  std::map<int, std::vector<TextLine>> ours;
  std::map<std::string, int> our_stacks;
  for (const DumpedEvent& event : encoded.dump.events) {
    TextLine line{(event.time_ns + 500) / 1000, KernelText(event, states)};
    if (event.name == "kernel_stack") {
      line.event = "<stack trace>";
      std::string frames;
      for (const std::string& function : event.stack) frames += "|" + function;
      ++our_stacks[frames];
    }
    ours[event.cpu].push_back(line);
  }
  std::size_t compared = 0;
  for (const auto& [cpu, lines] : text) {
    ASSERT_EQ(ours[cpu].size(), lines.size()) << "CPU " << cpu;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      EXPECT_EQ(ours[cpu][i].time_us, lines[i].time_us) << "CPU " << cpu << ", " << lines[i].event;
      // An event may print more behind what is rebuilt here (sched_stat_runtime did on old
      // kernels).
      EXPECT_EQ(lines[i].event.substr(0, ours[cpu][i].event.size()), ours[cpu][i].event);
      ++compared;
    }
  }
  EXPECT_GT(compared, 200U);
  if (has_stacks) {
    for (const std::string& stack : text_stacks) {
      // Ours leaves out the frames of the tracing, which the kernel prints first.
      const std::size_t begin = stack.find("|__schedule");
      ASSERT_NE(begin, std::string::npos) << stack;
      EXPECT_GT(our_stacks[stack.substr(begin)]--, 0) << stack;
    }
  }

  // The same pages in columns say the same of every switch and waking.
  const Encoded compact = Encode(spool);
  const auto essence = [](const Dump& dump) {
    std::vector<std::string> lines;
    for (const DumpedEvent& event : dump.events) {
      auto field = event.fields;
      if (event.name == "sched_switch") {
        lines.push_back(std::to_string(event.time_ns) + " " + field["prev_state"] + " " +
                        field["next_comm"] + " " + field["next_pid"] + " " + field["next_prio"]);
      } else if (event.name == "sched_waking") {
        lines.push_back(std::to_string(event.time_ns) + " " + field["comm"] + " " + field["pid"] +
                        " " + field["target_cpu"] + " " + field["prio"]);
      }
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  };
  EXPECT_EQ(essence(compact.dump), essence(encoded.dump));
}

}  // namespace
}  // namespace culprit::capture
