"""culprit check against Debian's own tools over the same second of this machine: vmstat, iostat, mpstat, free, ip (ss,
nstat and ip to the packet: network_test.py).
Both sample about a second, not the very same one: the tolerances are stated at each comparison."""
import json
import os
import re
import shutil
import subprocess
import threading
import time
import unittest

from support import check, findings, main


def tool(name):
    return unittest.skipUnless(shutil.which(name), f"{name} is not installed")


def beside(command, *arguments):
    """The report of culprit check and the output of a tool that ran at the same time."""
    out = {}

    def run_tool():
        out["text"] = subprocess.run(command, capture_output=True, text=True, timeout=60,
                                     env=dict(os.environ, LC_ALL="C", S_COLORS="never")).stdout

    thread = threading.Thread(target=run_tool)
    thread.start()
    report = check(*arguments)
    thread.join()
    return report, out["text"]


class Load:
    """A steady load, so that two samples that are not quite the same second can be compared."""

    def __enter__(self):
        self.children = [subprocess.Popen(["python3", "-c", "while True: pass"])]
        time.sleep(0.3)
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.kill()
            child.wait()


class Live(unittest.TestCase):
    def shares(self, report):
        line = findings(report, "cpu.busy")[0]["evidence"][0]
        return {name.strip(): float(value) for name, value in re.findall(r"([a-z+ ]+) ([\d.]+) %", line.replace(",", " "))}

    @tool("mpstat")
    def test_cpu_shares_as_mpstat(self):
        with Load():
            report, text = beside(["mpstat", "-o", "JSON", "2", "1"], "--only", "cpu.busy", "--sample", "2s")
        theirs = json.loads(text)["sysstat"]["hosts"][0]["statistics"][0]["cpu-load"][0]
        ours = self.shares(report)
        # Ten points: other work of this machine comes and goes within the two windows.
        self.assertAlmostEqual(ours["user"], theirs["usr"] + theirs["nice"], delta=10)
        self.assertAlmostEqual(ours["system"], theirs["sys"], delta=10)
        self.assertAlmostEqual(findings(report, "cpu.busy")[0]["value"], 100 - theirs["idle"] - theirs["iowait"], delta=10)

    @tool("vmstat")
    def test_cpu_shares_as_vmstat(self):
        with Load():
            report, text = beside(["vmstat", "-n", "2", "2"], "--only", "cpu", "--sample", "2s")
        head, last = text.splitlines()[1].split(), text.splitlines()[-1].split()
        theirs = dict(zip(head, last))
        busy = findings(report, "cpu.busy")[0]["value"]
        self.assertAlmostEqual(busy, 100 - int(theirs["id"]) - int(theirs["wa"]), delta=11)  # whole percents
        # vmstat's b is what cpu.blocked says; both are of one moment and small.
        self.assertAlmostEqual(findings(report, "cpu.blocked")[0]["value"], int(theirs["b"]), delta=3)

    @tool("free")
    def test_memory_as_free(self):
        report, text = beside(["free", "-b"], "--only", "memory", "--sample", "50ms")
        memory = next(line for line in text.splitlines() if line.startswith("Mem:")).split()
        ours = findings(report, "memory.available")[0]["value"]
        self.assertAlmostEqual(ours, 100 * int(memory[6]) / int(memory[1]), delta=5)  # percent of all memory
        swap = next(line for line in text.splitlines() if line.startswith("Swap:")).split()
        ours_swap = findings(report, "memory.swap_used")[0]
        if int(swap[1]) == 0:
            self.assertEqual(ours_swap["status"], "N/A")
        else:
            self.assertAlmostEqual(ours_swap["value"], 100 * int(swap[2]) / int(swap[1]), delta=2)

    def disk_values(self):
        """name -> (ours, iostat's, tolerance) of the disk under /var/tmp while it is written to."""
        stop = threading.Event()

        def write():
            with open("/var/tmp/culprit-live-test", "wb") as file:
                while not stop.is_set():
                    file.write(bytes(65536))
                    file.flush()
                    os.fsync(file.fileno())
                    time.sleep(0.01)
                    if file.tell() > 1 << 25:
                        file.seek(0)
            os.unlink("/var/tmp/culprit-live-test")

        thread = threading.Thread(target=write)
        thread.start()
        try:
            time.sleep(0.2)
            report, text = beside(["iostat", "-x", "-d", "-o", "JSON", "3", "2"], "--only", "disk", "--sample", "3s")
            # Its first report is since boot, its second the same three seconds (and a little) as ours.
        finally:
            stop.set()
            thread.join()
        rows = json.loads(text)["sysstat"]["hosts"][0]["statistics"][-1]["disk"]
        ours = [f for name in ("disk.latency", "disk.nvme_latency") for f in findings(report, name) if f["subject"]]
        if not ours:
            self.skipTest("no disk that is a leaf")
        theirs = next(row for row in rows if row["disk_device"] == ours[0]["subject"])
        line = ours[0]["evidence"][0]
        writes = re.search(r"write ([\d.]+)/s \S+ \S+ await ([\d.]+) ms", line)
        if writes is None or theirs["w/s"] < 10:
            self.skipTest("the disk under /var/tmp wrote too little to compare")
        return {"writes": (float(writes[1]), theirs["w/s"], 0.33 * theirs["w/s"] + 5),
                "await": (float(writes[2]), theirs["w_await"], 0.5 * theirs["w_await"] + 1),
                "utilization": (float(re.search(r"utilization ([\d.]+) %", line)[1]), theirs["util"], 20),
                "queue": (float(re.search(r"queue ([\d.]+);", line)[1]), theirs["aqu-sz"], 0.5 * theirs["aqu-sz"] + 0.3)}

    @tool("iostat")
    def test_disks_as_iostat(self):
        # The windows begin some hundred milliseconds apart, and others write to this disk: one of five tries must
        # agree in everything, within a third of the rate, half of the wait and the queue, 20 points of utilization.
        for _ in range(5):
            values = self.disk_values()
            wrong = {name: pair for name, pair in values.items() if abs(pair[0] - pair[1]) > pair[2]}
            if not wrong:
                return
        self.fail(f"ours, iostat's, tolerance: {wrong}")

    @tool("ip")
    def test_interfaces_as_ip(self):
        report, text = beside(["ip", "-j", "-s", "link"], "--only", "network", "--all", "--sample", "100ms")
        names = {link["ifname"] for link in json.loads(text)} - {"lo"}
        worst = findings(report, "net.drops")[0]
        if not names:
            self.assertEqual(worst["status"], "N/A")
        else:
            self.assertIn(worst["subject"], names)
            of = next((e for e in worst["evidence"] if e.startswith("the worst of ")), "the worst of 1")
            self.assertEqual(int(of.split()[3]), len(names))


if __name__ == "__main__":
    main()
