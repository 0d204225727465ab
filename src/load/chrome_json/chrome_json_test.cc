#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/file.h"
#include "load/chrome_json/json_event.h"
#include "load/chrome_json/scanner.h"
#include "load/testing_database.h"

namespace culprit::load {
namespace {

using chrome_json::EventScanner;
using chrome_json::MicrosecondsToNs;

std::string Slices(LoadedTrace& loaded) {
  return loaded.Rows(
      "SELECT s.ts, s.dur, s.name, s.category, s.depth, t.tid, p.pid FROM slice s JOIN "
      "thread_track k ON s.track_id = k.id JOIN thread t USING (utid) JOIN process p USING (upid) "
      "ORDER BY s.ts, s.depth, s.id");
}

// Cases of ../shared, read in place; their expected.txt says the answers.
TEST(ChromeJsonCases, CompressedInputs) {
  const char* source = std::getenv("CULPRIT_SOURCE_DIR");
  const std::string folder = std::string(source == nullptr ? "." : source) +
                             "/../shared/cases/small/27-compressed-inputs/";
  if (!PathExists(folder)) GTEST_SKIP() << folder << " is not here";
  LoadedTrace named = LoadedTrace::OfFile(folder + "gz-named-json.json");
  EXPECT_EQ(named.Rows("SELECT count(*) FROM slice"), "1\n");
  LoadedTrace members = LoadedTrace::OfFile(folder + "two-members.json.gz");
  EXPECT_EQ(members.Rows("SELECT ts, dur, name FROM slice ORDER BY ts"),
            "1000|2000|a\n4000|2000|b\n");
  EXPECT_FALSE(members.summary().truncated);
  LoadedTrace cut = LoadedTrace::OfFile(folder + "cut.json.gz");
  EXPECT_TRUE(cut.summary().truncated);
  EXPECT_EQ(cut.Rows("SELECT value FROM stats WHERE name = 'trace_file_truncated'"), "1\n");
  EXPECT_EQ(cut.Rows("SELECT DISTINCT name FROM slice"), "a\n");
}

TEST(ChromeJson, SlicesOfThreads) {
  LoadedTrace loaded(R"({"displayTimeUnit": "ns", "other": {"a": ["}", {"traceEvents": [1]}]},
    "traceEvents": [
    {"ph": "B", "pid": 1, "tid": 2, "ts": 10, "name": "outer \"}{\"", "cat": "c"},
    {"ph": "X", "pid": 1, "tid": 2, "ts": 12.5, "dur": 1.001, "name": "inner", "args": {"n": 1}},
    {"ph": "E", "pid": 1, "tid": 2, "ts": 20},
    {"ph": "X", "pid": "7", "tid": "8", "ts": "30.25", "dur": "1", "name": "texts"},
    {"ph": "i", "pid": 1, "tid": 2, "ts": 40, "name": "now", "s": "t"},
    {"ph": "B", "pid": 1, "tid": 2, "ts": 50, "name": "open"},
    {"ph": "X", "pid": 1, "tid": 3, "ts": 1, "name": "no duration"},
    {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "worker"}},
    {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "trainer"}},
    {"ph": "Z", "pid": 1, "ts": 3}
  ]})");
  EXPECT_EQ(Slices(loaded),
            "10000|10000|outer \"}{\"|c|0|2|1\n12500|1001|inner|NULL|1|2|1\n"
            "30250|1000|texts|NULL|0|8|7\n40000|0|now|NULL|0|2|1\n50000|-1|open|NULL|0|2|1\n");
  EXPECT_EQ(loaded.Rows("SELECT t.name, p.name FROM thread t JOIN process p USING (upid) WHERE "
                        "t.tid = 2"),
            "worker|trainer\n");
  EXPECT_EQ(loaded.Rows("SELECT name, value FROM stats WHERE name LIKE 'json%' ORDER BY name"),
            "json_events_skipped|1\njson_parser_failure|1\n");
}

TEST(ChromeJson, TimesAreExact) {
  EXPECT_EQ(MicrosecondsToNs("1700000000123456.789"), 1700000000123456789);
  EXPECT_EQ(MicrosecondsToNs("12"), 12000);
  EXPECT_EQ(MicrosecondsToNs("12.3"), 12300);
  EXPECT_EQ(MicrosecondsToNs("-0.5"), -500);
  EXPECT_EQ(MicrosecondsToNs("1.0006"), 1001);
  EXPECT_EQ(MicrosecondsToNs("1.5e3"), 1500000);
  EXPECT_FALSE(MicrosecondsToNs("9223372036854775807").has_value());
  EXPECT_FALSE(MicrosecondsToNs("1e300").has_value());
  EXPECT_FALSE(MicrosecondsToNs("null").has_value());
  EXPECT_FALSE(MicrosecondsToNs("").has_value());
}

// Profilers write slices in order of their ends, or in none; those that overlap get other lines.
TEST(ChromeJson, OrderAndOverlaps) {
  LoadedTrace loaded(R"([
    {"ph":"X","pid":1,"tid":1,"ts":10,"dur":2,"name":"child"},
    {"ph":"X","pid":1,"tid":1,"ts":10,"dur":5,"name":"parent"},
    {"ph":"X","pid":1,"tid":1,"ts":14,"dur":5,"name":"crossing"},
    {"ph":"X","pid":1,"tid":1,"ts":15,"dur":1,"name":"next"}])");
  EXPECT_EQ(
      loaded.Rows("SELECT s.name, depth, k.type FROM slice s JOIN thread_track k ON s.track_id "
                  "= k.id ORDER BY s.ts, s.dur DESC"),
      "parent|0|thread_execution\nchild|1|thread_execution\n"
      "crossing|0|thread_overlapping_slice\nnext|0|thread_execution\n");
}

TEST(ChromeJson, AsyncInstantsAndCounters) {
  LoadedTrace loaded(R"([
    {"ph":"b","pid":1,"tid":1,"ts":1,"id":"0x1","cat":"c","name":"load"},
    {"ph":"b","pid":1,"tid":1,"ts":2,"id":"0x2","cat":"c","name":"load"},
    {"ph":"e","pid":1,"tid":1,"ts":5,"id":"0x1","cat":"c","name":"load","args":{"ok":true}},
    {"ph":"e","pid":1,"tid":1,"ts":9,"id":"0x2","cat":"c","name":"load"},
    {"ph":"b","pid":1,"tid":1,"ts":11,"cat":"c","name":"no id"},
    {"ph":"i","pid":1,"tid":1,"ts":20,"name":"all","s":"g"},
    {"ph":"I","pid":1,"tid":1,"ts":21,"name":"process","s":"p"},
    {"ph":"C","pid":1,"tid":1,"ts":30,"name":"mem","args":{"a":1,"b":2.5}},
    {"ph":"C","pid":1,"tid":1,"ts":31,"name":"mem","args":{"a":"7"}}])",
                     kCore | kRaw);
  EXPECT_EQ(loaded.Rows("SELECT s.ts, s.dur, s.name, k.type FROM slice s JOIN track k ON "
                        "s.track_id = k.id ORDER BY s.ts"),
            "1000|4000|load|legacy_async_process_slice\n"
            "2000|7000|load|legacy_async_process_slice\n"
            "20000|0|all|legacy_global_instants\n21000|0|process|chrome_process_instant\n");
  EXPECT_EQ(loaded.Rows("SELECT count(DISTINCT track_id) FROM slice WHERE name = 'load'"), "2\n");
  EXPECT_EQ(
      loaded.Rows("SELECT key, display_value, value_type FROM slice JOIN args USING (arg_set_id)"),
      "args.ok|true|bool\n");
  EXPECT_EQ(loaded.Rows("SELECT t.name, c.ts, c.value FROM counter c JOIN process_counter_track t "
                        "ON c.track_id = t.id ORDER BY c.ts, t.name"),
            "mem a|30000|1.0\nmem b|30000|2.5\nmem a|31000|7.0\n");
}

TEST(ChromeJson, ArgumentsKeepTheirKinds) {
  LoadedTrace loaded(
      R"([{"ph":"X","pid":1,"tid":1,"ts":1,"dur":2,"name":"n","args":
          {"i":-5,"r":0.5,"t":"x","n":null,"l":[1,{"k":"y"}],"big":18446744073709551615}}])",
      kCore | kRaw);
  EXPECT_EQ(
      loaded.Rows("SELECT a.key, a.flat_key, a.value_type, a.display_value FROM slice s JOIN args "
                  "a USING (arg_set_id) WHERE a.key <> 'args.big' ORDER BY a.key"),
      "args.i|args.i|int|-5\nargs.l[0]|args.l|int|1\nargs.l[1].k|args.l.k|string|y\n"
      "args.n|args.n|null|NULL\nargs.r|args.r|real|0.5\nargs.t|args.t|string|x\n");
}

TEST(ChromeJson, Flows) {
  LoadedTrace loaded(R"([
    {"ph":"X","pid":1,"tid":1,"ts":1,"dur":5,"name":"from"},
    {"ph":"s","pid":1,"tid":1,"ts":2,"id":9,"cat":"f","name":"arrow"},
    {"ph":"X","pid":1,"tid":2,"ts":10,"dur":5,"name":"step"},
    {"ph":"t","pid":1,"tid":2,"ts":11,"id":9,"cat":"f","name":"arrow"},
    {"ph":"f","pid":1,"tid":3,"ts":12,"id":9,"cat":"f","name":"arrow"},
    {"ph":"X","pid":1,"tid":3,"ts":13,"dur":1,"name":"next"},
    {"ph":"X","pid":1,"tid":4,"ts":14,"dur":3,"name":"enclosing"},
    {"ph":"f","pid":1,"tid":4,"ts":15,"id":9,"cat":"f","name":"arrow","bp":"e"},
    {"ph":"X","pid":1,"tid":5,"ts":20,"dur":1,"name":"out","bind_id":"0x7","flow_out":true},
    {"ph":"X","pid":1,"tid":5,"ts":22,"dur":1,"name":"in","bind_id":"0x7","flow_in":true},
    {"ph":"s","pid":1,"tid":6,"ts":30,"id":10,"cat":"f","name":"arrow"}])");
  EXPECT_EQ(loaded.Rows("SELECT a.name, b.name FROM flow f JOIN slice a ON f.slice_out = a.id JOIN "
                        "slice b ON f.slice_in = b.id ORDER BY f.id"),
            "from|step\nstep|next\nstep|enclosing\nout|in\n");
  EXPECT_EQ(loaded.Rows("SELECT value FROM stats WHERE name = 'flow_no_enclosing_slice'"), "1\n");
}

TEST(ChromeJson, StatesOfThreads) {
  LoadedTrace loaded(R"([
    {"ph":"T","pid":1,"tid":1,"ts":1,"dur":5,"name":"Running","args":{"cpu":3}},
    {"ph":"T","pid":1,"tid":1,"ts":6,"dur":4,"name":"D","args":{"io_wait":1,
     "blocked_function":"io_schedule"}}])");
  EXPECT_EQ(loaded.Rows("SELECT ts, dur, state, cpu, io_wait, blocked_function FROM thread_state "
                        "ORDER BY ts"),
            "1000|5000|Running|3|NULL|NULL\n6000|4000|D|NULL|1|io_schedule\n");
  EXPECT_EQ(loaded.Rows("SELECT ts, dur, cpu FROM sched"), "1000|5000|3\n");
}

TEST(ChromeJson, DamageIsTold) {
  LoadedTrace cut(R"([{"ph":"X","pid":1,"tid":1,"ts":1,"dur":2,"name":"a"},{"ph":"X","pid)");
  EXPECT_EQ(cut.Rows("SELECT name FROM slice"), "a\n");
  EXPECT_TRUE(cut.summary().truncated);
  LoadedTrace open_array(R"([{"ph":"X","pid":1,"tid":1,"ts":1,"dur":2,"name":"a"},)");
  EXPECT_EQ(open_array.Rows("SELECT name FROM slice"), "a\n");
  LoadedTrace bad(
      R"([{"ph":"X" "pid"}, 5, {"ph":"X","pid":1,"tid":1,"ts":1,"dur":2,"name":"b"}, ])");
  EXPECT_EQ(bad.Rows("SELECT name FROM slice"), "b\n");
  EXPECT_EQ(bad.Rows("SELECT value FROM stats WHERE name = 'json_tokenizer_failure'"), "2\n");
}

TEST(ChromeJson, JsonWithoutEventsIsRefused) {
  auto database = tables::Database::OpenInMemory().value();
  auto connection = database.Connect().value();
  ASSERT_TRUE(tables::CreateSchema(connection).ok());
  const TemporaryFile file(R"({"meta": {"version": 3}})");
  const auto loaded = LoadTrace(file.path(), database);
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().what.find("JSON without trace events"), std::string::npos);
}

std::string Events(std::string_view text) {
  EventScanner scanner(text);
  std::string all;
  for (std::string_view event; scanner.Next(event);) all += std::string(event) + ';';
  if (scanner.is_cut()) all += "cut";
  return all;
}

TEST(ChromeJsonScanner, Shapes) {
  EXPECT_EQ(Events("[]"), "");
  EXPECT_EQ(Events("[{}]"), "{};");
  EXPECT_EQ(Events(R"( [ {"a":"]}\"\\"} , {"b":[{}]} ] )"), R"({"a":"]}\"\\"};{"b":[{}]};)");
  EXPECT_EQ(Events(R"({"x":1,"traceEvents":[{"a":1}],"y":"z"})"), R"({"a":1};)");
  EXPECT_EQ(Events(R"({"traceEvents":[{"a":1}]}[{"b":2}])"), R"({"a":1};{"b":2};)");
  EXPECT_EQ(Events(R"({"traceEvents":[{"a":1})"), R"({"a":1};cut)");
  EXPECT_EQ(Events(R"([{"a":"\)"), "cut");
  EXPECT_EQ(Events("[[[[["), "cut");
  EXPECT_EQ(Events("]]}}"), "");
  EXPECT_EQ(Events(R"({"traceEvents":5,"a")"), "cut");
}

}  // namespace
}  // namespace culprit::load
