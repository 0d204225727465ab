"""culprit check over captured trees: those of other projects, read in place, against what their owners' tools print."""
import os
import re
import subprocess
import tempfile
import unittest

from support import SOURCE, Config, check, findings, main, run

TREES = os.path.join(SOURCE, "..", "shared", "cases", "proc-trees")
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def unpacked(test, folder, name):
    path = os.path.join(TREES, name)
    if not os.path.exists(path):
        test.skipTest(f"no {name}")
    subprocess.run(["tar", "xzf", path, "-C", folder], check=True)


def told(evidence):
    """The numbers of a disk's evidence line, in iostat's names and units (awaits in ms, rates in kB a second)."""
    values = {}
    for kind, letter in (("read", "r"), ("write", "w"), ("discard", "d"), ("flush", "f")):
        match = re.search(kind + r" ([\d.]+)/s ([\d.]+) (\w+)/s await ([\d.]+) ms", evidence)
        values[letter + "/s"] = float(match[1]) if match else 0.0
        values[f"{letter}kB/s"] = float(match[2]) * UNITS[match[3]] / 1024 if match else 0.0
        values[letter + "_await"] = float(match[4]) if match else 0.0
    values["aqu-sz"] = float(re.search(r"queue ([\d.]+)", evidence)[1])
    values["%util"] = float(re.search(r"utilization ([\d.]+) %", evidence)[1])
    return values


class Sysstat(unittest.TestCase):
    """One machine at four moments: CPUs go offline and come back, counters fall, disks and interfaces come and go."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for number in range(1, 5):
            unpacked(cls(), cls.folder.name, f"sysstat-root{number}.tar.gz")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def runTest(self):
        pass

    def pair(self, first, *arguments):
        root = f"{self.folder.name}/root"
        return check("--root", f"{root}{first}", "--root-next", f"{root}{first + 1}", *arguments)

    def disks(self, first):
        """name -> (numbers, all evidence) of every disk that has a rate."""
        # A threshold of 0 makes every disk a finding of its own.
        config = Config("disk.latency warning=0\n")
        report = self.pair(first, "--only", "disk.latency", *config.arguments)
        return {f["subject"]: (told(f["evidence"][0]), str(f["evidence"])) for f in findings(report, "disk.latency")
                if f["status"] == "WARN"}

    def expected(self, name, report, section):
        """The rows of one table of an iostat or mpstat file: first column -> {heading: value}."""
        with open(os.path.join(TREES, "sysstat-expected", name), encoding="utf-8") as file:
            tables = [block.splitlines() for block in file.read().split("\n\n")]
        tables = [lines for lines in tables if lines and section in lines[0].split()]
        lines = tables[report]
        head = lines[0].split()
        key = head.index(section)
        return {line.split()[key]: dict(zip(head[key + 1:], map(float, line.split()[key + 1:]))) for line in lines[1:] if line}

    def test_every_disk_as_iostat_x(self):
        disks = self.disks(1)
        wanted = self.expected("expected.iostat-x", 1, "Device")
        self.assertEqual(set(wanted), {"sda", "sdb", "sdq", "sdr", "sds"})
        for name, row in wanted.items():
            for column, ours in disks[name][0].items():
                # Ours has one decimal for rates, theirs two; a rate in KiB of a number below 10 has one as well.
                self.assertAlmostEqual(ours, row.get(column, 0), delta=0.06 if column[0] != "a" else 0.006, msg=(name, column))

    def test_every_disk_as_iostat_while_some_come_and_go(self):
        disks = self.disks(2)
        for name, row in self.expected("expected.iostat", 2, "Device").items():
            if name in ("sdb", "sdd"):
                continue
            numbers = disks[name][0]
            # iostat's transfers are reads, writes and discards together.
            self.assertAlmostEqual(numbers["r/s"] + numbers["w/s"] + numbers["d/s"], row["tps"], delta=0.16, msg=name)
            self.assertAlmostEqual(numbers["rkB/s"], row["kB_read/s"], delta=0.06, msg=name)
            self.assertAlmostEqual(numbers["wkB/s"], row["kB_wrtn/s"], delta=0.06, msg=name)
            self.assertAlmostEqual(numbers["dkB/s"], row["kB_dscd/s"], delta=0.06, msg=name)
        # sdb was registered again: sysstat counts it from 0, which is an average over an unknown time; here it has no rate.
        self.assertNotIn("sdb", disks)
        self.assertIn("counting from 0 again: sdb", disks["sdr"][1])
        # The fault of sysstat that its README of these files tells: what fell is no rate, and the vanished are not there.
        last = self.disks(3)
        self.assertEqual({"sda", "sdb", "sdf", "sdg", "sds", "sdq"} & set(last), set())
        for name in ("sda", "sdf", "sdg", "sds"):
            self.assertRegex(last["sdr"][1], rf"counting from 0 again: .*\b{name}\b")

    def shares(self, report):
        line = findings(report, "cpu.busy")[0]["evidence"][0]
        return {name.strip(): float(value) for name, value in re.findall(r"([a-z+ ]+) ([\d.]+) %", line.replace(",", " "))}

    def test_cpu_shares_as_mpstat(self):
        for first in (1, 2):
            report = self.pair(first, "--only", "cpu.busy")
            # "CPU" tables of expected.mpstat-A: shares, interrupts, by number, softirqs; four for each interval.
            row = self.expected("expected.mpstat-A", 4 * (first - 1), "CPU")["all"]
            ours = self.shares(report)
            self.assertAlmostEqual(ours["user"], row["%usr"] + row["%nice"], delta=0.06)
            self.assertAlmostEqual(ours["system"], row["%sys"], delta=0.06)
            self.assertAlmostEqual(ours["iowait"], row["%iowait"], delta=0.06)
            self.assertAlmostEqual(ours["irq+softirq"], row["%irq"] + row["%soft"], delta=0.06)
            self.assertAlmostEqual(findings(report, "cpu.busy")[0]["value"], 100 - row["%idle"] - row["%iowait"], delta=0.02)

    def test_a_cpu_that_came_back_is_left_out_and_told(self):
        # CPU 8 was offline in root3: mpstat counts its whole life. Its other CPUs, weighted by the ticks they had.
        report = self.pair(3, "--only", "cpu.busy")
        rows = self.expected("expected.mpstat-A", 8, "CPU")

        def ticks(number):
            with open(f"{self.folder.name}/root{number}/proc/stat", encoding="ascii") as file:
                return {line.split()[0][3:]: sum(map(int, line.split()[1:9])) for line in file if re.match(r"cpu\d", line)}
        before, after = ticks(3), ticks(4)
        weights = {cpu: after[cpu] - before[cpu] for cpu in after if cpu in before}
        self.assertEqual(set(after) - set(weights), {"8"})
        busy = sum(weights[cpu] * (100 - rows[cpu]["%idle"] - rows[cpu]["%iowait"]) for cpu in weights) / sum(weights.values())
        found = findings(report, "cpu.busy")[0]
        self.assertAlmostEqual(found["value"], busy, delta=0.05)
        self.assertIn("1 CPUs left out", str(found["evidence"]))

    def test_an_interface_that_was_registered_again_is_told(self):
        drops = findings(self.pair(2, "--only", "net.drops"), "net.drops")[0]
        self.assertIn("counting from 0 again: enp6s0", str(drops["evidence"]))

    def test_nothing_of_it_alarms(self):
        for first in (1, 2, 3):
            report = self.pair(first)
            self.assertEqual([f for f in report["findings"] if f["status"] in ("WARN", "CRIT")], [])
            self.assertGreater(report["sample_seconds"], 25)
            self.assertFalse(report["sample_assumed"])


class Trees(unittest.TestCase):
    def test_a_pair_without_uptimes_says_what_it_assumes(self):
        with tempfile.TemporaryDirectory() as folder:
            for sample, ticks in (("0", 100), ("1", 150)):
                os.makedirs(f"{folder}/{sample}/proc")
                with open(f"{folder}/{sample}/proc/stat", "w", encoding="ascii") as file:
                    file.write(f"cpu  {ticks} 0 0 {ticks} 0 0 0 0\ncpu0 {ticks} 0 0 {ticks} 0 0 0 0\n")
            report = check("--root", folder, "--only", "cpu.busy", "--sample", "2s")
            self.assertEqual((report["sample_seconds"], report["sample_assumed"]), (2, True))
            _, text, _ = run("check", "--root", folder, "--only", "cpu.busy")
            self.assertIn("sampled over 1.00 s (assumed", text)

    def test_quiet_tree_has_no_finding(self):
        # This machine's own files, twice, a second apart in which nothing happened.
        names = ["stat", "meminfo", "vmstat", "diskstats", "net/dev", "net/snmp", "net/netstat", "net/softnet_stat", "softirqs",
                 "sys/kernel/pid_max", "sys/kernel/threads-max", "sys/fs/file-nr"]
        with tempfile.TemporaryDirectory() as folder:
            for sample in ("0", "1"):
                def put(name, text):
                    path = f"{folder}/{sample}/proc/{name}"
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text)
                for name in names:
                    with open("/proc/" + name, encoding="utf-8") as file:
                        text = file.read()
                    if name == "stat":
                        text = f"cpu  10 0 10 {1000 + 100 * int(sample)} 0 0 0 0 0 0\ncpu0 10 0 10 {1000 + 100 * int(sample)} 0 0 0 0 0 0\nprocs_running 1\nprocs_blocked 0\n"
                    if name == "diskstats" and sample == "1":
                        with open(f"{folder}/0/proc/diskstats", encoding="utf-8") as file:
                            text = file.read()
                    if name.startswith("net/") and sample == "1":
                        with open(f"{folder}/0/proc/{name}", encoding="utf-8") as file:
                            text = file.read()
                    if name == "vmstat" and sample == "1":
                        with open(f"{folder}/0/proc/vmstat", encoding="utf-8") as file:
                            text = file.read()
                    put(name, text)
                put("uptime", f"{1000 + int(sample)}.00 1.00\n")
                put("loadavg", "0.10 0.10 0.10 1/100 1\n")
                put("1/stat", "1 (init) S 0 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 6 0 0\n")
                for resource in ("cpu", "memory", "io"):
                    zeros = "avg10=0.00 avg60=0.00 avg300=0.00 total=0"
                    put("pressure/" + resource, f"some {zeros}\nfull {zeros}\n")
            report = check("--root", folder)
            self.assertEqual([f for f in report["findings"] if f["status"] in ("WARN", "CRIT", "UNKNOWN")], [])
            self.assertEqual(report["exit"], 0)
            self.assertEqual(report["sample_seconds"], 1)

    def test_odd_tree_of_prometheus(self):
        with tempfile.TemporaryDirectory() as folder:
            unpacked(self, folder, "procfs-proc.tar.gz")
            report = check("--root", folder)
            self.assertEqual({f["status"] for f in report["findings"]} - {"OK", "WARN", "CRIT", "UNKNOWN", "N/A"}, set())
            self.assertEqual(findings(report, "cpu.load")[0]["status"], "OK")
            status, out, _ = run("check", "--root", folder, "--all")
            self.assertNotIn("\x1b", out)
            self.assertIn(status, (0, 1, 2, 3))
            # Its md arrays by "[wanted/working]" and by "inactive" alone.
            with open(folder + "/proc/mdstat", encoding="ascii") as file:
                blocks = re.findall(r"^(md\d+) : (\w+)(.*?)(?=^md|^unused)", file.read(), re.M | re.S)
            bad = set()
            for name, state, text in blocks:
                disks = re.search(r"\[(\d+)/(\d+)\]", text)
                if disks and disks[1] != disks[2] or state == "inactive" and "external:" not in text:
                    bad.add(name)
            self.assertGreater(len(bad), 2)
            self.assertEqual({f["subject"] for f in findings(report, "disk.raid") if f["status"] == "WARN"}, bad)


if __name__ == "__main__":
    main()
