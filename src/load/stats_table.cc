#include "load/stats.h"

namespace culprit::load {
namespace {

using enum Severity;

constexpr StatKind kKinds[] = {
    // Of the recorder, as the kernel counted at the start and the end.
    {"ftrace_cpu_entries_begin", kInfo, true, "events in the CPU's ring at the start"},
    {"ftrace_cpu_entries_end", kInfo, true, "events in the CPU's ring at the end"},
    {"ftrace_cpu_entries_delta", kInfo, true, "end minus begin"},
    {"ftrace_cpu_overrun_begin", kInfo, true, "events overwritten up to the start"},
    {"ftrace_cpu_overrun_end", kInfo, true, "events overwritten up to the end"},
    {"ftrace_cpu_overrun_delta", kDataLoss, true,
     "events that newer ones overwrote before they were read"},
    {"ftrace_cpu_commit_overrun_begin", kInfo, true, "events dropped by nesting up to the start"},
    {"ftrace_cpu_commit_overrun_end", kInfo, true, "events dropped by nesting up to the end"},
    {"ftrace_cpu_commit_overrun_delta", kError, true, "events dropped because of nesting"},
    {"ftrace_cpu_bytes_begin", kInfo, true, "bytes in the CPU's ring at the start"},
    {"ftrace_cpu_bytes_end", kInfo, true, "bytes in the CPU's ring at the end"},
    {"ftrace_cpu_bytes_delta", kInfo, true, "end minus begin"},
    {"ftrace_cpu_oldest_event_ts_begin", kInfo, true, "time of the oldest event at the start, ns"},
    {"ftrace_cpu_oldest_event_ts_end", kInfo, true, "time of the oldest event at the end, ns"},
    {"ftrace_cpu_now_ts_begin", kInfo, true, "the ring's clock at the start, ns"},
    {"ftrace_cpu_now_ts_end", kInfo, true, "the ring's clock at the end, ns"},
    {"ftrace_cpu_dropped_events_begin", kInfo, true, "events refused up to the start"},
    {"ftrace_cpu_dropped_events_end", kInfo, true, "events refused up to the end"},
    {"ftrace_cpu_dropped_events_delta", kDataLoss, true, "events refused by a full ring"},
    {"ftrace_cpu_read_events_begin", kInfo, true, "events read up to the start"},
    {"ftrace_cpu_read_events_end", kInfo, true, "events read up to the end"},
    {"ftrace_cpu_read_events_delta", kInfo, true, "end minus begin"},
    {"ftrace_setup_errors", kInfo, true, "events asked for that the kernel does not have"},
    {"ftrace_parse_errors", kError, true, "pages of a ring that the recorder could not decode"},
    {"traced_buf_chunks_overwritten", kDataLoss, true, "chunks overwritten in a trace buffer"},
    {"traced_buf_chunks_discarded", kDataLoss, true, "chunks discarded by a full trace buffer"},
    {"traced_buf_trace_writer_packet_loss", kDataLoss, true, "packets that a producer lost"},
    {"traced_buf_bytes_written", kInfo, true, "bytes written to a trace buffer"},
    {"traced_buf_buffer_size", kInfo, true, "size of a trace buffer, bytes"},
    // Of the loader.
    {"ftrace_cpu_has_data_loss", kDataLoss, false,
     "1: events of this CPU are missing somewhere in the trace"},
    {"lost_events", kDataLoss, false, "events missing in gaps of this CPU, as far as counted"},
    {"lost_gaps", kDataLoss, false, "gaps in which events of this CPU are missing"},
    {"mismatched_sched_switch_tids", kError, false,
     "switches away from a thread that was not the one running: events are missing before them"},
    {"sched_slices_cut", kDataLoss, false,
     "sched rows ended at the last event before a gap, with end_state NULL"},
    {"compact_sched_switch_skipped", kInfo, false, "first switch of a CPU, which makes no row"},
    {"compact_sched_waking_skipped", kInfo, false,
     "wakings before the first switch of their CPU: the waker is not known"},
    {"compact_sched_has_parse_errors", kError, false, "damaged columns of switches or wakings"},
    {"task_state_invalid", kError, false, "switches with a state that this kernel does not have"},
    {"ftrace_bundle_tokenizer_errors", kError, false, "damaged bundles or events"},
    {"ftrace_missing_event_id", kInfo, false, "ftrace events without a payload"},
    {"ftrace_packet_before_tracing_start", kInfo, false,
     "events from before the recording began, left in the ring"},
    {"ftrace_events_before_all_cpus", kInfo, false,
     "events before the time from which all CPUs have data: in ftrace_event alone"},
    {"ftrace_events_out_of_order", kError, false,
     "events older than one of the same CPU that came before"},
    {"ftrace_unknown_events", kInfo, false, "ftrace events of a type that is not known"},
    {"ftrace_generic_descriptor_errors", kError, false, "generic events without a description"},
    {"packets_unknown", kInfo, false, "packets of a kind that culprit does not load"},
    {"packet_fields_unknown", kInfo, false, "fields of packets that are not known"},
    {"packet_parse_errors", kError, false, "packets with damage inside; what came before is kept"},
    {"trace_file_truncated", kDataLoss, false, "1: the file ends within a packet"},
    {"trace_bytes_skipped", kDataLoss, false, "bytes of the file that made no sense"},
    {"track_events_skipped", kInfo, false,
     "events of programs that no track was described for, or of kinds that are not loaded"},
    {"perf_cpu_lost_records", kDataLoss, true,
     "records of perf that the kernel dropped, as this CPU's ring was full"},
    {"perf_samples_skipped", kInfo, true,
     "samples without a stack: the process was gone, or its memory could not be read"},
    {"perf_samples_skipped_dataloss", kDataLoss, true,
     "samples without a stack, as the recorder could not keep up"},
    {"perf_guardrail_stop_ts", kDataLoss, true,
     "when the recorder of this perf session stopped because it took too much, ns"},
    {"perf_samples_of_unknown_stacks", kError, false,
     "samples whose stack refers to what the trace does not have"},
    {"stackprofile_invalid_mapping_id", kError, false, "symbols of files that no frame lies in"},
    {"stackprofile_invalid_frame_id", kError, false, "symbols of places that no frame has"},
    {"streaming_profiles_skipped", kInfo, false,
     "packets of Chrome's own sampling profiler, which are not loaded"},
    {"heap_profiles_skipped", kInfo, false, "packets of heap profiles, which are not loaded"},
    {"clock_sync_failure", kError, false, "timestamps of a clock that no snapshot connects"},
    {"invalid_cpu_times", kError, false, "CPU times without a CPU"},
    {"meminfo_unknown_keys", kInfo, false, "unknown keys of meminfo"},
    {"vmstat_unknown_keys", kInfo, false, "unknown keys of vmstat"},
    {"psi_unknown_resource", kInfo, false, "unknown resources of pressure stall information"},
    {"rss_stat_unknown_keys", kInfo, false, "rss_stat events of an unknown kind of memory"},
    {"rss_stat_negative_size", kInfo, false, "rss_stat events with a negative size"},
    {"rss_stat_unknown_thread_for_mm_id", kInfo, false,
     "rss_stat events of memory that no thread had as its own so far"},
    {"truncated_sys_write_duration", kInfo, false,
     "sys_write slices ended where their marker was written, so that the marker's slice nests"},
    {"flow_no_enclosing_slice", kError, false, "ends of flows outside of any slice"},
    {"flow_duplicate_id", kError, false, "flows begun while one of their number was under way"},
    {"flow_step_without_start", kInfo, false, "steps of flows whose begin was not seen"},
    {"flow_end_without_start", kInfo, false, "ends of flows whose begin was not seen"},
    {"flow_invalid_id", kError, false, "flows without a number"},
    {"json_tokenizer_failure", kError, false, "pieces of a JSON trace that are no events"},
    {"json_parser_failure", kError, false,
     "events of a JSON trace that lack what their kind needs"},
    {"json_events_skipped", kInfo, false, "events of a JSON trace of kinds that are not loaded"},
    {"slice_spill_overlapping_complete_event", kInfo, false,
     "slices of a thread that overlap another in part: on a line of their own"},
    {"process_tracker_errors", kError, false, "threads said to belong to two processes"},
    {"process_tracker_parent_pid_changed", kInfo, false,
     "processes given to another parent; the first one is kept"},
    {"systrace_parse_failure", kInfo, false, "texts of trace_marker that are no markers"},
    {"misplaced_end_event", kDataLoss, false, "markers ended out of order"},
    {"marker_ends_unmatched", kInfo, false, "marker ends whose begin was not seen"},
    {"slices_cut", kDataLoss, false, "slices whose end fell into a gap: dur is -1"},
    {"block_completions_unmatched", kInfo, false,
     "completions of requests whose start was not seen"},
    {"interned_stack_missing", kError, false, "stacks that refer to unknown frames"},
    // Of recordings without root.
    {"own_threads", kInfo, true,
     "threads that sched and thread_state are about: a CPU or thread without rows is not known"},
    {"own_threads_looks", kInfo, true, "looks at their states in /proc"},
    {"own_threads_waits", kInfo, true, "their waits"},
    {"own_threads_waits_without_kind", kInfo, true,
     "of these, waits too short for a look: called S, with no function"},
    {"own_threads_waits_shared", kInfo, true,
     "of these, waits that share the run delay of one window evenly"},
    {"own_threads_waits_unsplit", kInfo, true,
     "of these, waits with no look behind them: time in which they stood ready counts as blocked"},
    {"own_threads_lost", kDataLoss, true, "switches or samples that there was no room for"},
    {"own_threads_unknown", kDataLoss, true,
     "stretches between records that do not fit: the state is NULL"},
    {"ftrace_text_lines_skipped", kInfo, false, "lines of an ftrace text that are no events"},
};

constexpr StatKind kUnknown = {"", kInfo, false, ""};

}  // namespace

const StatKind& FindStatKind(std::string_view name) {
  for (const StatKind& kind : kKinds) {
    if (kind.name == name) return kind;
  }
  return kUnknown;
}

void TraceStats::Add(std::string_view name, std::int64_t amount, std::int64_t index) {
  values_[{std::string(name), index}] += amount;
}

void TraceStats::Set(std::string_view name, std::int64_t value, std::int64_t index) {
  values_[{std::string(name), index}] = value;
}

std::int64_t TraceStats::Get(std::string_view name, std::int64_t index) const {
  const auto found = values_.find(std::pair(std::string(name), index));
  return found == values_.end() ? 0 : found->second;
}

}  // namespace culprit::load
