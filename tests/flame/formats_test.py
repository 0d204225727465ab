#!/usr/bin/env python3
"""culprit flame: each output read back by other means (json, xml, a few lines that decode protobuf), each input with a
known answer, selections, comparison, and hostile names."""
import collections
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

CULPRIT = os.environ["CULPRIT_PROGRAM"]

SCRIPT = """\
py thon 3 100/101 [000] 10.000000:     2000 cycles:u:
\t    55d0 leaf(int, char const*) (/usr/bin/app)
\t    55c0 ns::outer<void (int)>(int) const (/usr/bin/app)
\t    55b0 main (/usr/bin/app)

py thon 3 100/100 [001] 10.500000:     3000 cycles:u:
\tffffffff81000010 do_syscall_64+0x10 ([kernel.kallsyms])
\t    55b0 main (/usr/bin/app)

other 200/200 [001] 11.000000:     5000 cycles:u:
\t    55e0 malloc (/usr/lib/libc.so.6)
\t    55b0 main (/usr/bin/app)

other 200/200 [001] 11.500000:        7 page-faults:
\t    55b0 main (/usr/bin/app)
"""
LINES = {"py thon 3;main;ns::outer<void (int)>;leaf": 2000, "py thon 3;main;do_syscall_64": 3000,
         "other;main;malloc": 5000}
HOSTILE = '</script><script>alert(1)</script>;]]><svg onload=alert(2)>;"&\'\x1b[2J\x01\u202e;\ufffe back`tick ${1} 5\n'


class Flame(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def run_flame(self, *arguments, status=0):
        run = subprocess.run([CULPRIT, "flame", *map(str, arguments)], capture_output=True)
        self.assertEqual(run.returncode, status, run.stderr)
        return run

    def folded(self, path, *arguments):
        text = self.run_flame(path, "--format", "folded", *arguments).stdout.decode()
        return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in text.splitlines()}

    def output(self, path, suffix, *arguments):
        out = self.folder / f"out{suffix}"
        self.run_flame(path, "-o", out, *arguments)
        return out.read_bytes()

    def test_script_with_blanks_and_digits_in_comm(self):
        path = self.file("in.txt", SCRIPT)
        self.assertEqual(self.folded(path), LINES)
        self.assertEqual(self.folded(path, "--type", "counter:page-faults"), {"other;main": 7})
        said = self.run_flame(path, "--format", "folded").stderr.decode()
        self.assertIn("cycles:u: 10,000 cycles:u in 3 samples of 3 threads", said)
        self.assertIn("not shown: 1 sample of page-faults", said)

    def test_selections_and_groups(self):
        path = self.file("in.txt", SCRIPT)
        first, second, third = LINES
        self.assertEqual(self.folded(path, "--thread", "py*"), {first: 2000, second: 3000})
        self.assertEqual(self.folded(path, "--thread", "101"), {first: 2000})
        self.assertEqual(self.folded(path, "--process", "200"), {third: 5000})
        self.assertEqual(self.folded(path, "--cpu", "0"), {first: 2000})
        self.assertEqual(self.folded(path, "--from", "500ms", "--to", "1s"), {second: 3000})
        self.assertEqual(self.folded(path, "--group", "thread"),
                         {"py thon 3-100/101;main;ns::outer<void (int)>;leaf": 2000,
                          "py thon 3-100/100;main;do_syscall_64": 3000, "other-200/200;main;malloc": 5000})
        self.assertEqual(set(self.folded(path, "--group", "cpu")),
                         {"CPU 000;main;ns::outer<void (int)>;leaf", "CPU 001;main;do_syscall_64", "CPU 001;main;malloc"})
        self.assertEqual(self.folded(path, "--group", "merged", "--reverse")["leaf;ns::outer<void (int)>;main"], 2000)
        self.assertEqual(self.folded(path, "--filter", "^main$", "--filter", "mal+oc"), {third: 5000})
        self.assertEqual(self.folded(path, "--remove", "^main$")["other;malloc"], 5000)
        self.assertEqual(self.folded(path, "--collapse", "outer")["py thon 3;main;ns::outer<void (int)>"], 2000)
        self.assertIn("py thon 3;main;ns::outer<void (int)>(int) const;leaf(int, char const*)",
                      self.folded(path, "--full-names"))
        none = self.run_flame(path, "--thread", "nobody", status=1)
        self.assertIn(b"none of 3 samples is selected", none.stderr)
        bad = self.run_flame(path, "--filter", "(", status=1)
        self.assertIn(b"regular expression", bad.stderr)

    def test_text_adds_up(self):
        text = self.run_flame(self.file("in.txt", SCRIPT)).stdout.decode()
        shares = [float(line.split("%")[0]) for line in text.split("call tree")[0].splitlines() if "%" in line.split("  ")[0]]
        self.assertAlmostEqual(sum(shares), 100, delta=0.05)

    def test_speedscope_out_and_in(self):
        data = json.loads(self.output(self.file("in.txt", SCRIPT), ".speedscope.json"))
        names = [frame["name"] for frame in data["shared"]["frames"]]
        stacks = collections.Counter()
        for profile in data["profiles"]:
            self.assertEqual(profile["endValue"], sum(profile["weights"]))
            for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
                stacks[";".join(names[i] for i in stack)] += weight
        self.assertEqual(stacks, {key.split(";", 1)[1]: value for key, value in LINES.items()})
        evented = {"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "a"}, {"name": "b"}]},
                   "profiles": [{"type": "evented", "name": "t", "unit": "milliseconds", "startValue": 0, "endValue": 10, "events": [
                       {"type": "O", "frame": 0, "at": 1}, {"type": "O", "frame": 1, "at": 2}, {"type": "C", "frame": 1, "at": 5},
                       {"type": "C", "frame": 0, "at": 9}]}]}
        self.assertEqual(self.folded(self.file("e.json", json.dumps(evented)), "--group", "merged"), {"a": 5_000_000, "a;b": 3_000_000})

    def test_pprof_out_and_in(self):
        packed = self.output(self.file("in.txt", SCRIPT), ".pb.gz")
        fields = list(decode(gzip.decompress(packed)))
        strings = [value.decode() for number, value in fields if number == 6]
        self.assertEqual(strings[0], "")
        functions, locations = {}, {}
        for number, value in fields:
            row = collections.defaultdict(list)
            for key, part in decode(value) if isinstance(value, bytes) and number in (4, 5) else ():
                row[key].append(part)
            if number == 5:
                functions[row[1][0]] = strings[row[2][0]]
            if number == 4:
                locations[row[1][0]] = dict(decode(row[4][0]))[1]
        stacks = collections.Counter()
        for number, value in fields:
            if number == 2:
                sample = dict(decode(value))
                ids, values = list(varints(sample[1])), list(varints(sample[2]))
                stacks[";".join(functions[locations[i]] for i in reversed(ids))] += values[1]
        self.assertEqual(stacks, {key.split(";", 1)[1]: value for key, value in LINES.items()})
        self.assertEqual(self.folded(self.file("p.pb.gz", packed), "--type", "counter:cycles:u"), LINES)

    def test_cpuprofile(self):
        profile = {"nodes": [{"id": 1, "callFrame": {"functionName": "(root)"}, "children": [2, 4]},
                             {"id": 2, "callFrame": {"functionName": "main"}, "children": [3]},
                             {"id": 3, "callFrame": {"functionName": "work"}}, {"id": 4, "callFrame": {"functionName": "(idle)"}}],
                   "startTime": 1000, "endTime": 1700, "samples": [2, 3, 3, 4], "timeDeltas": [0, 100, 200, 300]}
        # 2 runs 100 us, then 3 for 200 and 300, then 4 until the end, 1700 - 1600.
        self.assertEqual(self.folded(self.file("a.cpuprofile", json.dumps(profile))), {"main": 100_000, "main;work": 500_000, "(idle)": 100_000})

    def test_svg_and_html_hold_the_same_and_no_markup(self):
        path = self.file("in.folded", HOSTILE + "a;b 3\na;c 4\n")
        svg = self.output(path, ".svg")
        tree = xml.etree.ElementTree.fromstring(svg)  # fails on what is no XML
        scripts = [element for element in tree.iter() if element.tag.endswith("script")]
        self.assertEqual(len(scripts), 2)
        html = self.output(path, ".html").decode()
        self.assertEqual(html.count("<script"), 2)
        self.assertEqual(html.count("</script>"), 2)
        for page in (svg.decode(), html):
            self.assertNotIn("onload=alert(2)>", page)
            self.assertNotIn("\x1b", page)
        data = json.loads(scripts[0].text)
        self.assertIn("</script><script>alert(1)</script>", data["names"])
        self.assertEqual(data["total"][0], 12)
        self.assertEqual(json.loads(html.split('type="application/json">')[1].split("</script>")[0])["leafWeight"], [5, 3, 4])

    def test_deep_stacks(self):
        deep = ";".join(f"f{i}" for i in range(10_000))
        path = self.file("deep.folded", f"{deep} 7\na 1\n")
        self.assertEqual(self.folded(path)[deep], 7)
        data = json.loads(xml.etree.ElementTree.fromstring(self.output(path, ".svg")).findall("{http://www.w3.org/2000/svg}script")[0].text)
        self.assertEqual(max(data["depth"]), 10_000)
        self.assertIn("nodes", "nodes " + self.run_flame(path).stdout.decode())

    def test_diff(self):
        before = self.file("a.folded", "main;gone 100\nmain;same 100\nmain;more 100\n")
        after = self.file("b.folded", "main;new 200\nmain;same 200\nmain;more 800\n")
        table = self.run_flame("diff", before, after, "--normalize", "none").stdout.decode()
        rows = {line.split()[-1]: line.split() for line in table.splitlines() if "samples" in line}
        self.assertEqual(rows["more"][4:7], ["+700", "samples", "+700.0"])
        self.assertIn("gone", rows["gone"])
        self.assertIn("new", rows["new"][:-1])
        lines = self.run_flame("diff", before, after, "--format", "folded").stdout.decode()
        # Scaled to the first's total: 1200 become 300.
        self.assertEqual(lines, "main;gone 100 0\nmain;more 100 200\nmain;new 0 50\nmain;same 100 50\n")
        data = json.loads(xml.etree.ElementTree.fromstring(self.diff_svg(before, after)).findall("{http://www.w3.org/2000/svg}script")[0].text)
        by_name = {(data["names"] + ["all"])[frame]: (b, a) for frame, b, a in zip(data["frame"], data["before"], data["after"])}
        self.assertEqual(by_name["all"], (300, 300))
        self.assertEqual(by_name["gone"], (100, 0))
        self.assertEqual(by_name["new"], (0, 50))
        work = self.run_flame("diff", before, after, "--normalize", "work", "--work", "1,4", "--format", "folded").stdout
        self.assertIn(b"main;more 100 200\n", work)

    def diff_svg(self, before, after):
        out = self.folder / "diff.svg"
        self.run_flame("diff", before, after, "-o", out)
        return out.read_bytes()

    def test_bad_inputs(self):
        for name, content, words in (
                ("empty", b"", b"the file is empty"),
                ("words", b"these are words\nof no format\n", b"no profile"),
                ("zero.json", b'{"nodes": []}', b"no samples"),
                ("cut.json", b'{"nodes": [', b"damaged"),
                ("short.data", b"PERFILE2" + bytes(20), b"ends within its header"),
                ("pipe.data", b"PERFILE2" + (16).to_bytes(8, "little"), b"without any event"),
        ):
            run = self.run_flame(self.file(name, content), "-o", self.folder / "x.svg", status=1)
            self.assertIn(words, run.stderr, name)
            self.assertFalse((self.folder / "x.svg").exists(), name)
        self.run_flame(self.folder / "missing", status=1)
        self.assertIn(b"says no format", self.run_flame(self.file("in.txt", SCRIPT), "-o", self.folder / "x.jpg", status=1).stderr)


def varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def decode(data):
    """(field number, integer or bytes) of a protobuf message."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
        else:
            assert key & 7 == 2, key
            size = number()
            yield key >> 3, data[at:at + size]
            at += size


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
