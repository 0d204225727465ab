#include "tracefile/ftrace_event_table.h"

#include <gtest/gtest.h>

#include <set>

#include "tracefile/fields.h"

namespace culprit::tracefile {
namespace {

// Numbers and types as in the public protos.
TEST(FtraceEventTable, FindsAnEventBothWays) {
  const EventType* by_name = FindEventType("sched", "sched_switch");
  ASSERT_NE(by_name, nullptr);
  EXPECT_EQ(by_name, FindEventType(FtraceEvent::kSchedSwitch));
  ASSERT_EQ(by_name->fields.size(), 7U);
  const EventField* state = by_name->FindField("prev_state");
  ASSERT_NE(state, nullptr);
  EXPECT_EQ(state->number, 4U);
  EXPECT_EQ(state->type, FieldType::kInt64);
  EXPECT_EQ(by_name->FindField(7U)->name, "next_prio");
  EXPECT_EQ(by_name->FindField(8U), nullptr);
  EXPECT_EQ(by_name->FindField("nothing"), nullptr);
}

TEST(FtraceEventTable, TellsVendorEventsOfOneKernelNameApart) {
  const EventType* dpu = FindEventType("dpu", "tracing_mark_write");
  const EventType* sde = FindEventType("sde", "tracing_mark_write");
  ASSERT_NE(dpu, nullptr);
  ASSERT_NE(sde, nullptr);
  EXPECT_NE(dpu->field_id, sde->field_id);
  EXPECT_EQ(dpu->name, "dpu_tracing_mark_write");
}

TEST(FtraceEventTable, KnowsRepeatedFields) {
  const EventField* args = FindEventType("raw_syscalls", "sys_enter")->FindField("args");
  ASSERT_NE(args, nullptr);
  EXPECT_TRUE(args->repeated);
  EXPECT_EQ(args->type, FieldType::kUint64);
}

TEST(FtraceEventTable, KnowsWhichFieldsAreFunctions) {
  const EventType* work = FindEventType("workqueue", "workqueue_execute_start");
  EXPECT_TRUE(work->FindField("function")->is_function);
  EXPECT_EQ(work->FindField("function")->type, FieldType::kUint64);
  EXPECT_FALSE(work->FindField("work")->is_function);
}

TEST(FtraceEventTable, DoesNotKnowWhatIsNotTyped) {
  EXPECT_EQ(FindEventType("nvme", "nvme_setup_cmd"), nullptr);
  EXPECT_EQ(FindEventType("kmem", "sched_switch"), nullptr);
  EXPECT_EQ(FindEventType(0U), nullptr);
  EXPECT_EQ(FindEventType(FtraceEvent::kGeneric), nullptr);
  EXPECT_EQ(FindEventType(4'000'000'000U), nullptr);
}

TEST(FtraceEventTable, IsConsistent) {
  std::uint32_t last_id = 0;
  for (const EventType& type : EventTypes()) {
    EXPECT_GT(type.field_id, last_id) << type.name;
    last_id = type.field_id;
    std::set<std::uint32_t> numbers;
    for (const EventField& field : type.fields) {
      EXPECT_FALSE(field.name.empty()) << type.name;
      EXPECT_TRUE(numbers.insert(field.number).second) << type.name << " " << field.name;
    }
    if (!type.group.empty()) {
      EXPECT_EQ(FindEventType(type.group, type.kernel_name), &type);
    }
  }
  EXPECT_GT(EventTypes().size(), 590U);
}

// The constants of fields.h against the table.
TEST(FtraceEventTable, AgreesWithFieldNumbers) {
  EXPECT_EQ(FindEventType("ftrace", "print")->field_id, FtraceEvent::kPrint);
  EXPECT_EQ(FindEventType("sched", "sched_wakeup")->field_id, FtraceEvent::kSchedWakeup);
  EXPECT_EQ(FindEventType("sched", "sched_waking")->field_id, FtraceEvent::kSchedWaking);
  EXPECT_EQ(FindEventType("sched", "sched_wakeup_new")->field_id, FtraceEvent::kSchedWakeupNew);
  EXPECT_EQ(FindEventType("sched", "sched_blocked_reason")->field_id,
            FtraceEvent::kSchedBlockedReason);
}

}  // namespace
}  // namespace culprit::tracefile
