"""The GPU checks against a double of NVML (fake_nvml.c) that replays states from a file."""
import os
import tempfile
import unittest

from support import check, findings, main, problem

LIBRARY_DIR = os.environ["CULPRIT_FAKE_NVML_DIR"]

HEALTHY = """pci 00000000:{bus}:00.0
uuid GPU-{bus}
name NVIDIA H100 80GB HBM3
vbios 96.00
pcie_gen_max 5
pcie_gen 5
pcie_width_max 16
pcie_width 16
pcie_replays 0
pstate 0
persistence 1
power_limit 700000
power 300000
temperature 50
util 90
memory_total 85899345920
memory_used 42949672960
processes 1
pids 1
reasons 0x4
violation_thermal 0
ecc_mode 1
ecc_uncorrected 0
ecc_corrected 0
remap_uncorrected 0
remap_pending 0
remap_failed 0
nvlinks 18
nvlinks_active 18
nvlink_replay 0
"""


def state(count=2, library="", **changes):
    """A state file: healthy GPUs, with lines of GPU 1 replaced by name."""
    text = f"count {count}\n{library}"
    for index in range(count):
        for line in HEALTHY.format(bus=f"{0x9B + index:02X}").splitlines():
            name = line.split(" ", 1)[0]
            if index == 1 and name in changes:
                line = f"{name} {changes[name]}"
            text += f"{index} {line}\n"
    return text


class Gpu(unittest.TestCase):
    def report(self, text, *arguments):
        with tempfile.NamedTemporaryFile("w", suffix=".nvml") as file:
            file.write(text)
            file.flush()
            environment = dict(os.environ, LD_LIBRARY_PATH=LIBRARY_DIR, CULPRIT_FAKE_NVML=file.name)
            return check("--only", "gpu", "--sample", "100ms", *arguments, env=environment)

    def expect(self, check_id, status, subject="GPU 1", **changes):
        finding = problem(self.report(state(**changes)), check_id)
        self.assertIsNotNone(finding, f"{check_id} saw nothing")
        self.assertEqual(finding["status"], status, finding)
        self.assertIn(subject, finding["subject"])
        return finding

    def test_healthy_gpus_have_no_finding(self):
        report = self.report(state(8))
        bad = [f for f in report["findings"] if f["status"] in ("WARN", "CRIT", "UNKNOWN")]
        self.assertEqual(bad, [])
        self.assertEqual(findings(report, "gpu.count")[0]["value"], 8)

    def test_hardware_slowdown(self):
        self.assertIn("thermal", self.expect("gpu.throttle", "WARN", reasons="0x40")["summary"])

    def test_power_cap_is_normal(self):
        self.assertIsNone(problem(self.report(state(reasons="0x4")), "gpu.throttle"))

    def test_uncorrected_ecc_that_grows(self):
        self.expect("gpu.ecc", "CRIT", ecc_uncorrected="3 5")

    def test_uncorrected_ecc_of_before(self):
        self.expect("gpu.ecc", "WARN", ecc_uncorrected="3")

    def test_row_remapping(self):
        self.expect("gpu.remap", "CRIT", remap_failed="1")
        self.expect("gpu.remap", "WARN", remap_pending="1")
        self.expect("gpu.remap", "WARN", remap_uncorrected="512")

    def test_pcie_link(self):
        self.expect("gpu.pcie", "CRIT", pcie_width="8")
        self.expect("gpu.pcie", "WARN", pcie_gen="4")
        # An idle GPU (P8) lowers its link: no fault.
        self.assertIsNone(problem(self.report(state(pcie_gen="1", pstate="8")), "gpu.pcie"))

    def test_pcie_replays(self):
        self.expect("gpu.pcie_errors", "WARN", pcie_replays="0 100")

    def test_nvlink(self):
        self.expect("gpu.nvlink", "WARN", nvlinks_active="17")
        self.expect("gpu.nvlink", "CRIT", nvlink_replay="0 7")

    def test_orphaned_memory(self):
        self.expect("gpu.memory", "WARN", processes="0")

    def test_processes_are_named(self):
        one = self.report(state(1).replace("0 pids 1", f"0 pids {os.getpid()}"))
        self.assertIn(f"(pid {os.getpid()})", str(findings(one, "gpu.memory")[0]["evidence"]))

    def test_uniformity(self):
        finding = problem(self.report(state(persistence="0")), "gpu.uniformity")
        self.assertIn("persistence", finding["summary"])

    def test_a_lost_gpu(self):
        finding = problem(self.report(state(library="lost 1\n")), "gpu.count")
        self.assertEqual(finding["status"], "CRIT")
        self.assertIn("1 GPUs answer", finding["summary"])

    def test_fewer_than_the_baseline(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/baseline"
            self.report(state(3), "--save-baseline", path)
            self.assertIsNone(problem(self.report(state(3), "--baseline", path), "gpu.count"))
            finding = problem(self.report(state(2), "--baseline", path), "gpu.count")
            self.assertEqual(finding["status"], "CRIT")

    def test_driver_that_does_not_start(self):
        finding = problem(self.report(state(library="init 18\n")), "gpu.driver")
        self.assertIn("version mismatch", finding["summary"])

    def test_driver_that_hangs(self):
        finding = problem(self.report(state(library="hang 1\n"), "--deadline", "1s"), "gpu.driver")
        self.assertEqual(finding["status"], "CRIT")
        self.assertIn("GPU 1", finding["summary"])

    def test_library_that_crashes(self):
        finding = problem(self.report(state(library="crash 1\n")), "gpu.driver")
        self.assertIn("crashed at GPU 1", finding["summary"])


if __name__ == "__main__":
    main()
