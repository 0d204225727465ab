// Field numbers of Perfetto's trace format, as far as culprit writes or reads them, and of our own
// extension packet. One namespace a message; no code. Source: the public protos of google/perfetto.
#pragma once

#include <cstdint>

namespace culprit::tracefile {

namespace Trace {
enum : std::uint32_t { kPacket = 1 };
}

namespace TracePacket {
enum : std::uint32_t {
  kFtraceEvents = 1,
  kProcessTree = 2,
  kTrustedUid = 3,  // int32
  kClockSnapshot = 6,
  kSysStats = 7,
  kTimestamp = 8,  // uint64
  kProcessStats = 9,
  kTrustedPacketSequenceId = 10,  // uint32
  kTrackEvent = 11,
  kInternedData = 12,
  kSequenceFlags = 13,  // uint32, SequenceFlags
  kTraceConfig = 33,
  kFtraceStats = 34,
  kTraceStats = 35,
  kSynchronizationMarker = 36,
  kProfilePacket = 37,
  kIncrementalStateCleared = 41,  // bool
  kPreviousPacketDropped = 42,
  kProcessDescriptor = 43,
  kThreadDescriptor = 44,
  kSystemInfo = 45,
  kTrigger = 46,
  kCompressedPackets = 50,  // zlib
  kStreamingProfilePacket = 54,
  kTimestampClockId = 58,  // uint32
  kTracePacketDefaults = 59,
  kTrackDescriptor = 60,
  kModuleSymbols = 61,
  kPerfSample = 66,
  kCpuInfo = 67,
  kServiceEvent = 69,
  kTrustedPid = 79,
  kFirstPacketOnSequence = 87,
  kTraceUuid = 89,
  kMachineId = 98,
  kInterruptInfo = 130,
  kZstdCompressedPackets = 133,
  // Ours, CulpritData below. In the range that the format leaves to extensions without an owner
  // (2000 to 9999); readers that do not know it skip it, as they skip any unknown field.
  kCulpritData = 7177,
};
}

// Bits of TracePacket.sequence_flags.
namespace SequenceFlags {
enum : std::uint32_t { kIncrementalStateCleared = 1, kNeedsIncrementalState = 2 };
}

namespace TracePacketDefaults {
enum : std::uint32_t { kTrackEventDefaults = 11, kPerfSampleDefaults = 12, kTimestampClockId = 58 };
}

// Values of ClockSnapshot.Clock.clock_id, TracePacket.timestamp_clock_id and BuiltinClock.
// 64 to 127 are local to a sequence.
namespace BuiltinClock {
enum : std::uint32_t {
  kUnknown = 0,
  kRealtime = 1,
  kRealtimeCoarse = 2,
  kMonotonic = 3,
  kMonotonicCoarse = 4,
  kMonotonicRaw = 5,
  kBoottime = 6,
  kTsc = 9,
  kPerf = 10,
  kTraceFile = 11,
  kMaxId = 63,
};
}

namespace ClockSnapshot {
enum : std::uint32_t { kClocks = 1, kPrimaryTraceClock = 2 };
namespace Clock {
enum : std::uint32_t { kClockId = 1, kTimestamp = 2, kIsIncremental = 3, kUnitMultiplierNs = 4 };
}
}  // namespace ClockSnapshot

namespace FtraceEventBundle {
enum : std::uint32_t {
  kCpu = 1,
  kEvent = 2,
  kLostEvents = 3,
  kCompactSched = 4,
  kFtraceClock = 5,      // FtraceClock; absent: boot
  kFtraceTimestamp = 6,  // with kBootTimestamp: one reading of both clocks
  kBootTimestamp = 7,
  kError = 8,
  kLastReadEventTimestamp = 9,
  kPreviousBundleEndTimestamp = 10,
  kGenericEventDescriptors = 11,
  kBrokenAbiTracePage = 512,
};
// Columns of events, all packed but the intern table. Timestamps are differences to the one before
// in the same column (the first is whole).
namespace CompactSched {
enum : std::uint32_t {
  kSwitchTimestamp = 1,
  kSwitchPrevState = 2,
  kSwitchNextPid = 3,
  kSwitchNextPrio = 4,
  kInternTable = 5,  // repeated string: what the comm indices mean, in this bundle alone
  kSwitchNextCommIndex = 6,
  kWakingTimestamp = 7,
  kWakingPid = 8,
  kWakingTargetCpu = 9,
  kWakingPrio = 10,
  kWakingCommIndex = 11,
  kWakingCommonFlags = 12,
};
}
namespace FtraceError {
enum : std::uint32_t { kTimestamp = 1, kStatus = 2 };
}
namespace GenericEventDescriptor {
enum : std::uint32_t { kFieldId = 1, kEventDescriptor = 2, kGroupName = 3 };
}
}  // namespace FtraceEventBundle

namespace FtraceClock {
enum : std::uint32_t { kUnspecified = 0, kUnknown = 1, kGlobal = 2, kLocal = 3, kMonoRaw = 4 };
}

// The event itself is one more field: ftrace_event_table.h has their numbers. Numbers 65536 to
// 131072 are described by the bundle's GenericEventDescriptors.
namespace FtraceEvent {
enum : std::uint32_t {
  kTimestamp = 1,
  kPid = 2,
  kPrint = 3,
  kSchedSwitch = 4,
  kCommonFlags = 5,
  kSchedWakeup = 17,
  kSchedBlockedReason = 18,
  kSchedWaking = 20,
  kSchedWakeupNew = 114,
  kGeneric = 327,
};
}

namespace GenericFtraceEvent {
enum : std::uint32_t { kEventName = 1, kField = 2 };
namespace Field {
enum : std::uint32_t { kName = 1, kStrValue = 3, kIntValue = 4, kUintValue = 5 };
}
}  // namespace GenericFtraceEvent

namespace FtraceStats {
enum : std::uint32_t {
  kPhase = 1,
  kCpuStats = 2,
  kKernelSymbolsParsed = 3,
  kKernelSymbolsMemKb = 4,
  kAtraceErrors = 5,
  kUnknownFtraceEvents = 6,
  kFailedFtraceEvents = 7,
  kPreserveFtraceBuffer = 8,
  kFtraceParseErrors = 9,
  kCpuBufferSizePages = 11,
};
namespace Phase {
enum : std::uint32_t { kUnspecified = 0, kStartOfTrace = 1, kEndOfTrace = 2 };
}
}  // namespace FtraceStats

namespace FtraceCpuStats {
enum : std::uint32_t {
  kCpu = 1,
  kEntries = 2,
  kOverrun = 3,
  kCommitOverrun = 4,
  kBytesRead = 5,
  kOldestEventTs = 6,  // double, seconds
  kNowTs = 7,          // double, seconds
  kDroppedEvents = 8,
  kReadEvents = 9,
};
}

// Values of FtraceError.status and FtraceStats.ftrace_parse_errors.
namespace FtraceParseStatus {
enum : std::uint32_t {
  kUnspecified = 0,
  kOk = 1,
  kUnexpectedReadError = 2,
  kPartialPageRead = 3,
  kAbiInvalidPageHeader = 4,
  kAbiShortEventHeader = 5,
  kAbiNullPadding = 6,
  kAbiShortPaddingLength = 7,
  kAbiInvalidPaddingLength = 8,
  kAbiShortTimeExtend = 9,
  kAbiShortTimeStamp = 10,
  kAbiShortDataLength = 11,
  kAbiZeroDataLength = 12,
  kAbiInvalidDataLength = 13,
  kAbiShortEventId = 14,
  kAbiEndOverflow = 15,
  kShortCompactEvent = 16,
  kInvalidEvent = 17,
};
}

namespace ProcessTree {
enum : std::uint32_t { kProcesses = 1, kThreads = 2, kCollectionEndTimestamp = 3 };
namespace Process {
enum : std::uint32_t {
  kPid = 1,
  kPpid = 2,
  kCmdline = 3,  // repeated string
  kUid = 5,
  kNspid = 6,
  kProcessStartFromBoot = 7,  // ns
  kIsKthread = 8,
  kCmdlineIsComm = 9,
};
}
namespace Thread {
enum : std::uint32_t { kTid = 1, kName = 2, kTgid = 3, kNstid = 4 };
}
}  // namespace ProcessTree

namespace ProcessStats {
enum : std::uint32_t { kProcesses = 1, kCollectionEndTimestamp = 2 };
namespace Process {
enum : std::uint32_t {
  kPid = 1,
  kVmSizeKb = 2,
  kVmRssKb = 3,
  kRssAnonKb = 4,
  kRssFileKb = 5,
  kRssShmemKb = 6,
  kVmSwapKb = 7,
  kVmLockedKb = 8,
  kVmHwmKb = 9,
  kOomScoreAdj = 10,  // int64
  kThreads = 11,
  kIsPeakRssResettable = 12,
  kChromePrivateFootprintKb = 13,
  kChromePeakResidentSetKb = 14,
  kFds = 15,
  kSmrRssKb = 16,
  kSmrPssKb = 17,
  kSmrPssAnonKb = 18,
  kSmrPssFileKb = 19,
  kSmrPssShmemKb = 20,
  kRuntimeUserMode = 21,    // ns
  kRuntimeKernelMode = 22,  // ns
  kSmrSwapPssKb = 23,
  kDmabufRssKb = 24,
};
}
}  // namespace ProcessStats

// Keys of meminfo and vmstat: sys_stats_table.h.
namespace SysStats {
enum : std::uint32_t {
  kMeminfo = 1,
  kVmstat = 2,
  kCpuStat = 3,
  kNumForks = 4,
  kNumIrqTotal = 5,
  kNumIrq = 6,
  kNumSoftirqTotal = 7,
  kNumSoftirq = 8,
  kCollectionEndTimestamp = 9,
  kDevfreq = 10,
  kCpufreqKhz = 11,  // repeated, one a CPU in order
  kBuddyInfo = 12,
  kDiskStat = 13,
  kPsi = 14,
  kThermalZone = 15,
  kCpuidleState = 16,
  kGpufreqMhz = 17,
  kSlabInfo = 18,
};
namespace MeminfoValue {  // value in kB
enum : std::uint32_t { kKey = 1, kValue = 2 };
}
namespace VmstatValue {
enum : std::uint32_t { kKey = 1, kValue = 2 };
}
namespace CpuTimes {
enum : std::uint32_t {
  kCpuId = 1,
  kUserNs = 2,
  kUserNiceNs = 3,
  kSystemModeNs = 4,
  kIdleNs = 5,
  kIoWaitNs = 6,
  kIrqNs = 7,
  kSoftirqNs = 8,
  kStealNs = 9,
};
}
namespace InterruptCount {
enum : std::uint32_t { kIrq = 1, kCount = 2 };
}
namespace DevfreqValue {
enum : std::uint32_t { kKey = 1, kValue = 2 };
}
namespace BuddyInfo {
enum : std::uint32_t { kNode = 1, kZone = 2, kOrderPages = 3 };
}
namespace DiskStat {
enum : std::uint32_t {
  kDeviceName = 1,
  kReadSectors = 2,
  kReadTimeMs = 3,
  kWriteSectors = 4,
  kWriteTimeMs = 5,
  kDiscardSectors = 6,
  kDiscardTimeMs = 7,
  kFlushCount = 8,
  kFlushTimeMs = 9,
};
}
namespace PsiSample {
enum : std::uint32_t { kResource = 1, kTotalNs = 2 };
}
namespace PsiResource {
enum : std::uint32_t {
  kUnspecified = 0,
  kCpuSome = 1,
  kCpuFull = 2,
  kIoSome = 3,
  kIoFull = 4,
  kMemorySome = 5,
  kMemoryFull = 6,
};
}
namespace ThermalZone {
enum : std::uint32_t { kName = 1, kTemp = 2, kType = 3 };
}
namespace CpuIdleState {
enum : std::uint32_t { kCpuId = 1, kCpuidleStateEntry = 2 };
}
namespace CpuIdleStateEntry {
enum : std::uint32_t { kState = 1, kDurationUs = 2 };
}
namespace SlabInfo {
enum : std::uint32_t { kName = 1, kPagesPerSlab = 2, kNumSlabs = 3 };
}
}  // namespace SysStats

namespace SystemInfo {
enum : std::uint32_t {
  kUtsname = 1,
  kHz = 3,
  kTracingServiceVersion = 4,
  kPageSize = 6,
  kTimezoneOffMins = 7,
  kNumCpus = 8,
  kSystemRamBytes = 16,
  kMachineName = 17,
};
}
namespace Utsname {
enum : std::uint32_t { kSysname = 1, kVersion = 2, kRelease = 3, kMachine = 4 };
}

namespace CpuInfo {
enum : std::uint32_t { kCpus = 1 };
namespace Cpu {
enum : std::uint32_t { kProcessor = 1, kFrequencies = 2, kCapacity = 3 };
}
}  // namespace CpuInfo

namespace InterruptInfo {
enum : std::uint32_t { kIrqMapping = 1 };
namespace InterruptMapping {
enum : std::uint32_t { kIrqId = 1, kName = 2 };
}
}  // namespace InterruptInfo

namespace InternedData {
enum : std::uint32_t {
  kEventCategories = 1,
  kEventNames = 2,
  kDebugAnnotationNames = 3,
  kFunctionNames = 5,  // InternedString
  kFrames = 6,
  kCallstacks = 7,
  kBuildIds = 16,      // InternedString
  kMappingPaths = 17,  // InternedString
  kSourcePaths = 18,   // InternedString
  kMappings = 19,
  kKernelSymbols = 26,  // InternedString
  kDebugAnnotationStringValues = 29,
};
}
namespace InternedString {
enum : std::uint32_t { kIid = 1, kStr = 2 };
}
namespace Mapping {
enum : std::uint32_t {
  kIid = 1,
  kBuildId = 2,
  kStartOffset = 3,
  kStart = 4,
  kEnd = 5,
  kLoadBias = 6,
  kPathStringIds = 7,
  kExactOffset = 8,
};
}
namespace Frame {
enum : std::uint32_t {
  kIid = 1,
  kFunctionNameId = 2,
  kMappingId = 3,
  kRelPc = 4,
  kSourcePathIid = 5,
  kLineNumber = 6,
  kKind = 7,
};
}
namespace Callstack {
enum : std::uint32_t { kIid = 1, kFrameIds = 2 };  // frames from the root to the leaf
}

namespace PerfSample {
enum : std::uint32_t {
  kCpu = 1,
  kPid = 2,
  kTid = 3,
  kCallstackIid = 4,
  kCpuMode = 5,
  kTimebaseCount = 6,
  kFollowerCounts = 7,
  kUnwindError = 16,
  kKernelRecordsLost = 17,
  kSampleSkippedReason = 18,
  kProducerEvent = 19,
};
namespace SkipReason {
enum : std::uint32_t { kReadStage = 1, kUnwindStage = 2, kUnwindEnqueue = 3, kNotInScope = 4 };
}
namespace ProducerEvent {
enum : std::uint32_t { kSourceStopReason = 1 };
enum : std::uint32_t { kStoppedByGuardrail = 1 };
}  // namespace ProducerEvent
}  // namespace PerfSample
namespace PerfSampleDefaults {
enum : std::uint32_t { kTimebase = 1, kFollowers = 4 };
}
// What one event of perf is: PerfEvents.Timebase, and with other numbers FollowerEvent.
namespace PerfTimebase {
enum : std::uint32_t {
  kPeriod = 1,
  kFrequency = 2,
  kTracepoint = 3,
  kCounter = 4,
  kRawEvent = 5,
  kName = 10,
  kModifiers = 12
};
}
namespace PerfFollower {
enum : std::uint32_t { kCounter = 1, kTracepoint = 2, kRawEvent = 3, kName = 4, kModifiers = 5 };
}
namespace PerfTracepoint {
enum : std::uint32_t { kName = 1 };
}

namespace ModuleSymbols {
enum : std::uint32_t { kPath = 1, kBuildId = 2, kAddressSymbols = 3 };
}
namespace AddressSymbols {
enum : std::uint32_t { kAddress = 1, kLines = 2 };
}
namespace SymbolLine {
enum : std::uint32_t { kFunctionName = 1, kSourceFileName = 2, kLineNumber = 3 };
}

namespace TrackDescriptor {
enum : std::uint32_t {
  kUuid = 1,
  kName = 2,
  kProcess = 3,
  kThread = 4,
  kParentUuid = 5,
  kCounter = 8,
  kStaticName = 10,
};
}
namespace CounterDescriptor {
enum : std::uint32_t {
  kType = 1,
  kUnit = 3,
  kUnitMultiplier = 4,
  kIsIncremental = 5,
  kUnitName = 6
};
}
namespace TrackEvent {
enum : std::uint32_t {
  kType = 9,
  kTrackUuid = 11,
  kName = 23,
  kCounterValue = 30,  // int64
  kDoubleCounterValue = 44,
};
namespace Type {
enum : std::int32_t { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4 };
}
}  // namespace TrackEvent

namespace TracingServiceEvent {
enum : std::uint32_t {
  kAllDataSourcesStarted = 1,
  kTracingStarted = 2,
  kAllDataSourcesFlushed = 3,
  kReadTracingBuffersCompleted = 4,
  kTracingDisabled = 5,
};
}

namespace TraceUuid {
enum : std::uint32_t { kMsb = 1, kLsb = 2 };
}

namespace TraceStats {
enum : std::uint32_t { kBufferStats = 1 };
namespace BufferStats {
enum : std::uint32_t {
  kBytesWritten = 1,
  kChunksWritten = 2,
  kChunksOverwritten = 3,
  kBufferSize = 12,
  kBytesOverwritten = 13,
  kChunksDiscarded = 18,
  kTraceWriterPacketLoss = 19,
};
}
}  // namespace TraceStats

namespace TraceConfig {
enum : std::uint32_t {
  kBuffers = 1,
  kDataSources = 2,
  kDurationMs = 3,
  kWriteIntoFile = 8,
  kFileWritePeriodMs = 9,
  kMaxFileSizeBytes = 10,
  kBuiltinDataSources = 20,
  kUniqueSessionName = 22,
};
namespace BufferConfig {
enum : std::uint32_t { kSizeKb = 1, kFillPolicy = 4, kName = 7 };
}
namespace DataSource {
enum : std::uint32_t { kConfig = 1 };
}
}  // namespace TraceConfig
namespace DataSourceConfig {
enum : std::uint32_t { kName = 1, kTargetBuffer = 2, kFtraceConfig = 100 };
}

// Our own packet: what the record holds and Perfetto's format has no place for.
namespace CulpritData {
enum : std::uint32_t {
  kEventFormats = 1,  // repeated EventFormat, once at the start of the trace
  kLostGaps = 4,      // repeated LostGap, once at the end
  kProcessNotes = 5,  // repeated ProcessNote, at any time
};
// An event's format file as the traced kernel gave it: field layout, and the print fmt from which
// the task states are decoded.
namespace EventFormat {
enum : std::uint32_t { kGroup = 1, kName = 2, kFormat = 3 };
}
// What the recorder knows of a process: a row of the table metadata.
namespace ProcessNote {
enum : std::uint32_t { kKind = 1, kPid = 2, kText = 3 };
}
// A stretch in which a CPU's ring lost events: between the last event before and the first after.
namespace LostGap {
enum : std::uint32_t {
  kCpu = 1,
  kBeginNs = 2,  // absent: nothing of this CPU was seen before
  kEndNs = 3,
  kEvents = 4,  // absent: the kernel did not say how many
};
}
}  // namespace CulpritData

}  // namespace culprit::tracefile
