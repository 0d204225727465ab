// What the NVIDIA driver's Xid codes mean and what to do, and the lines of the kernel log that mean
// a fault of something else.
#include <array>

#include "health/kmsg.h"

namespace culprit::health {
namespace {

constexpr auto kOk = FindingStatus::kOk;
constexpr auto kWarn = FindingStatus::kWarning;
constexpr auto kCrit = FindingStatus::kCritical;

constexpr std::string_view kRestart = "restart the application";
constexpr std::string_view kReset = "drain the node and reset the GPU: nvidia-smi --gpu-reset";

constexpr std::array kXids = {
    XidMeaning{13, kWarn, "graphics engine exception: usually the application", kRestart},
    XidMeaning{31, kWarn, "GPU MMU page fault: usually the application, not a lost card",
               "restart the application; again on this GPU alone: field diagnostic; on several: "
               "the application's bug"},
    XidMeaning{32, kWarn, "invalid or corrupted push buffer", kRestart},
    XidMeaning{43, kOk,
               "the GPU stopped processing a channel: consequence of a fault of the application",
               "follow the other Xid"},
    XidMeaning{45, kOk, "preemptive removal of a channel: consequence of another event",
               "follow the other Xid"},
    XidMeaning{48, kCrit, "double-bit ECC error",
               "see gpu.remap; drain the node and reset the GPU"},
    XidMeaning{62, kCrit, "PMU halt", kReset},
    XidMeaning{63, kOk, "row remapping recorded", "see gpu.remap: takes effect at the next reset"},
    XidMeaning{64, kCrit, "row remapping failed", "reset the GPU; when it fails again: replace it"},
    XidMeaning{68, kWarn, "NVDEC0 exception", kRestart},
    XidMeaning{69, kWarn, "graphics engine class error", kRestart},
    XidMeaning{74, kCrit, "NVLink error",
               "see gpu.nvlink; reset all GPUs of the fabric; reseat or replace on repeat"},
    XidMeaning{79, kCrit, "GPU has fallen off the bus",
               "drain and restart the node; on repeat: reseat, power, riser"},
    XidMeaning{92, kWarn, "high rate of single-bit ECC errors",
               "see gpu.ecc; plan a field diagnostic"},
    XidMeaning{94, kWarn, "contained ECC error: only one application was hit", kRestart},
    XidMeaning{95, kCrit, "uncontained ECC error", kReset},
    XidMeaning{109, kCrit, "context switch timeout", kReset},
    XidMeaning{119, kCrit, "GSP RPC timeout", kReset},
    XidMeaning{120, kCrit, "GSP error", kReset},
    XidMeaning{121, kWarn, "C2C link error", "when it repeats: field diagnostic"},
    XidMeaning{136, kCrit, "NVLink training failed", kReset},
    XidMeaning{140, kCrit, "unrecovered ECC error", kReset},
    XidMeaning{143, kCrit, "GPU initialization failed", kReset},
    XidMeaning{144, kWarn, "NVLink 5 SAW error", "see gpu.nvlink"},
    XidMeaning{145, kWarn, "NVLink 5 RLW error", "see gpu.nvlink"},
    XidMeaning{146, kWarn, "NVLink 5 TLW error", "see gpu.nvlink"},
    XidMeaning{147, kWarn, "NVLink 5 TREX error", "see gpu.nvlink"},
    XidMeaning{148, kWarn, "NVLink 5 NVLPW control error", "see gpu.nvlink"},
    XidMeaning{149, kWarn, "NVLink 5 NETIR error", "see gpu.nvlink"},
    XidMeaning{150, kWarn, "NVLink 5 MSE error", "see gpu.nvlink"},
    XidMeaning{154, kOk, "recovery action announced by the driver", "do what the message says"},
};
constexpr XidMeaning kOffTheBus{0, kCrit, "GPU has fallen off the bus",
                                "drain and restart the node; on repeat: reseat, power, riser"};
constexpr XidMeaning kUnknownXid{~0U, kWarn, "not in the table",
                                 "look the code up in NVIDIA's Xid catalogue"};

constexpr std::array kPatterns = {
    KmsgPattern{KmsgTopic::kLockup, "soft lockup - CPU#", kCrit, "a CPU was stuck in the kernel"},
    KmsgPattern{KmsgTopic::kLockup, "hard LOCKUP", kCrit, "a CPU took no interrupts"},
    KmsgPattern{KmsgTopic::kLockup, "rcu*detected*stall", kCrit,
                "RCU stall: a CPU did not pass through a quiet state"},
    KmsgPattern{KmsgTopic::kLockup, "Machine check events logged", kCrit,
                "machine check: see ras-mc-ctl or mcelog"},
    KmsgPattern{KmsgTopic::kLockup, "[Hardware Error]:*Machine Check", kCrit, "machine check"},
    KmsgPattern{KmsgTopic::kLockup, "mce:*Uncorrected", kCrit, "uncorrected machine check"},
    KmsgPattern{KmsgTopic::kLockup, "kernel BUG at", kCrit, "a bug of the kernel"},
    KmsgPattern{KmsgTopic::kLockup, "Oops:", kCrit, "the kernel faulted"},
    KmsgPattern{KmsgTopic::kLockup, "general protection fault, ", kCrit, "the kernel faulted"},
    KmsgPattern{KmsgTopic::kHungTask, "task *blocked for more than*seconds", kWarn, "hung task"},
    KmsgPattern{KmsgTopic::kDisk, "nvme*timeout, aborting", kWarn, "NVMe request timed out"},
    KmsgPattern{KmsgTopic::kDisk, "nvme*timeout, reset controller", kCrit,
                "NVMe controller was reset"},
    KmsgPattern{KmsgTopic::kDisk, "nvme*timeout, disable controller", kCrit,
                "NVMe controller was given up"},
    KmsgPattern{KmsgTopic::kDisk, "nvme*controller is down; will reset", kCrit,
                "NVMe controller is down"},
    KmsgPattern{KmsgTopic::kDisk, "nvme*Removing after probe failure", kCrit,
                "NVMe drive was removed"},
    KmsgPattern{KmsgTopic::kDisk, "Buffer I/O error on dev", kWarn, "IO error"},
    KmsgPattern{KmsgTopic::kDisk, "I/O error, dev ", kWarn, "IO error"},
    KmsgPattern{KmsgTopic::kDisk, "critical medium error, dev ", kCrit, "the medium is bad"},
    KmsgPattern{KmsgTopic::kDisk, "EXT4-fs error (device", kCrit,
                "ext4 found its data inconsistent"},
    KmsgPattern{KmsgTopic::kDisk, "XFS (*Corruption", kCrit, "XFS found its data inconsistent"},
    KmsgPattern{KmsgTopic::kDisk, "XFS (*shutting down", kCrit, "XFS shut a file system down"},
    KmsgPattern{KmsgTopic::kDisk, "Remounting filesystem read-only", kCrit,
                "a file system turned read-only"},
    KmsgPattern{KmsgTopic::kDisk, "ata*failed command", kWarn, "SATA command failed"},
    KmsgPattern{KmsgTopic::kNfs, "nfs: server *not responding", kCrit,
                "NFS server does not answer"},
    KmsgPattern{KmsgTopic::kNfs, "nfs: server * OK", kOk, "NFS server answers again"},
};

}  // namespace

std::span<const KmsgPattern> KmsgPatterns() { return kPatterns; }

const XidMeaning& MeaningOfXid(std::uint32_t code) {
  if (code == 0) return kOffTheBus;
  for (const XidMeaning& row : kXids) {
    if (row.code == code) return row;
  }
  return kUnknownXid;
}

}  // namespace culprit::health
