// The scripts that the table of scenarios names, by what they are short of.
#pragma once

#include "lab/stage.h"

namespace culprit::lab {

// scenes_cpu.cc: the CPU
Status PlayCpu(Stage& stage, Truth& truth);
Status PlayPreempt(Stage& stage, Truth& truth);
Status PlayOversub(Stage& stage, Truth& truth);
Status PlayPriorityInversion(Stage& stage, Truth& truth);
// scenes_lock.cc: one another
Status PlayLock(Stage& stage, Truth& truth);
Status PlayGil(Stage& stage, Truth& truth);
Status PlayDstate(Stage& stage, Truth& truth);
Status PlayStraggler(Stage& stage, Truth& truth);
// scenes_disk.cc: the disk
Status PlayIo(Stage& stage, Truth& truth);
Status PlayRead(Stage& stage, Truth& truth);
Status PlayCheckpoint(Stage& stage, Truth& truth);
// scenes_limit.cc: what a limit grants
Status PlayThrottle(Stage& stage, Truth& truth);
Status PlayMemory(Stage& stage, Truth& truth);
Status PlaySwap(Stage& stage, Truth& truth);
// scenes_irq.cc
Status PlayIrq(Stage& stage, Truth& truth);
// scenes_check.cc: for `culprit check`
Status PlayZombie(Stage& stage, Truth& truth);
Status PlayFdLeak(Stage& stage, Truth& truth);
Status PlayPidLeak(Stage& stage, Truth& truth);
// pipeline.cc: loaders, queue, trainer
Status PlayPipeline(Stage& stage, Truth& truth);

}  // namespace culprit::lab
