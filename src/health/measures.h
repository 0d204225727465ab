// The functions that the table of rules names: each takes the numbers of one check out of two
// moments. They judge nothing that a threshold can.
#pragma once

#include "health/context.h"
#include "health/rule.h"

namespace culprit::health {

// measure_cpu.cc
void MeasureCpuBusy(const Context& context, Readings& out);
void MeasureRunQueue(const Context& context, Readings& out);
void MeasureLoad(const Context& context, Readings& out);
void MeasureBlocked(const Context& context, Readings& out);
void MeasurePsiCpu(const Context& context, Readings& out);
void MeasureHotCpu(const Context& context, Readings& out);
void MeasureSteal(const Context& context, Readings& out);
void MeasureIowait(const Context& context, Readings& out);
void MeasureThrottling(const Context& context, Readings& out);

// measure_tasks.cc
void MeasureDState(const Context& context, Readings& out);
void MeasureZombies(const Context& context, Readings& out);
void MeasurePids(const Context& context, Readings& out);
void MeasureDescriptors(const Context& context, Readings& out);
void MeasureDelays(const Context& context, Readings& out);

// measure_memory.cc
void MeasureHostEcc(const Context& context, Readings& out);
void MeasureAvailable(const Context& context, Readings& out);
void MeasureSwapTraffic(const Context& context, Readings& out);
void MeasureSwapUsed(const Context& context, Readings& out);
void MeasureReclaim(const Context& context, Readings& out);
void MeasurePsiMemory(const Context& context, Readings& out);
void MeasureDirty(const Context& context, Readings& out);
void MeasureRefaults(const Context& context, Readings& out);
void MeasureCompaction(const Context& context, Readings& out);
void MeasureHugepages(const Context& context, Readings& out);
void MeasureBadRam(const Context& context, Readings& out);
void MeasureNuma(const Context& context, Readings& out);

// measure_cpu_clock.cc
void MeasureCpuThermal(const Context& context, Readings& out);
void MeasureFrequency(const Context& context, Readings& out);

// measure_orphans.cc
void MeasureOrphans(const Context& context, Readings& out);

// measure_oom.cc
void MeasureOom(const Context& context, Readings& out);

// measure_disk.cc
void MeasureDiskLatency(const Context& context, Readings& out);
void MeasureNvmeLatency(const Context& context, Readings& out);
void MeasureDiskUtil(const Context& context, Readings& out);
void MeasureDiskQueue(const Context& context, Readings& out);
void MeasureStuckIo(const Context& context, Readings& out);
void MeasurePsiIo(const Context& context, Readings& out);
void MeasureNvme(const Context& context, Readings& out);
void MeasureRaid(const Context& context, Readings& out);

// measure_fs.cc
void MeasureShm(const Context& context, Readings& out);
void MeasureSpace(const Context& context, Readings& out);
void MeasureInodes(const Context& context, Readings& out);
void MeasureReadOnly(const Context& context, Readings& out);
void MeasureHungMounts(const Context& context, Readings& out);

// measure_netfs.cc
void MeasureNfs(const Context& context, Readings& out);
void MeasureLustreCeph(const Context& context, Readings& out);

// measure_net.cc
void MeasureNicUtil(const Context& context, Readings& out);
void MeasureDrops(const Context& context, Readings& out);
void MeasureNicErrors(const Context& context, Readings& out);
void MeasureRing(const Context& context, Readings& out);
void MeasureSoftnet(const Context& context, Readings& out);
void MeasureRetransmits(const Context& context, Readings& out);
void MeasureListen(const Context& context, Readings& out);
void MeasureFlaps(const Context& context, Readings& out);
void MeasurePause(const Context& context, Readings& out);
void MeasureRdmaPorts(const Context& context, Readings& out);
void MeasureRdmaErrors(const Context& context, Readings& out);
void MeasureRoce(const Context& context, Readings& out);

// measure_kernel.cc
void MeasureLockups(const Context& context, Readings& out);
void MeasureHungTask(const Context& context, Readings& out);
void MeasureDiskErrors(const Context& context, Readings& out);
void MeasureNfsLog(const Context& context, Readings& out);
void MeasureXid(const Context& context, Readings& out);
void MeasureClock(const Context& context, Readings& out);
void MeasureView(const Context& context, Readings& out);
void MeasureStuckProbes(const Context& context, Readings& out);

// measure_gpu.cc
void MeasureGpuCount(const Context& context, Readings& out);
void MeasureGpuDriver(const Context& context, Readings& out);
void MeasureGpuUtil(const Context& context, Readings& out);
void MeasureGpuMemory(const Context& context, Readings& out);
void MeasureGpuThrottle(const Context& context, Readings& out);
void MeasureGpuEcc(const Context& context, Readings& out);
void MeasureGpuRemap(const Context& context, Readings& out);
void MeasureGpuPcieLink(const Context& context, Readings& out);
void MeasureGpuPcieErrors(const Context& context, Readings& out);
void MeasureNvlink(const Context& context, Readings& out);
void MeasureGpuUniformity(const Context& context, Readings& out);

// measure_gpu_numa.cc
void MeasureGpuNuma(const Context& context, Readings& out);

}  // namespace culprit::health
