"""What culprit check prints: JSON against its schema, OpenMetrics, Nagios, exit statuses, options, errors."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from support import SANITIZED, SOURCE, check, findings, main, run

QUICK = ["--sample", "50ms"]


class Formats(unittest.TestCase):
    def schema(self):
        with open(SOURCE + "/docs/check.schema.json", encoding="utf-8") as file:
            return json.load(file)

    def test_json_is_as_its_schema_says(self):
        report = check(*QUICK)
        report.pop("exit")
        self.assertEqual(report["schema_version"], 1)
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        jsonschema.validate(report, self.schema())
        # Nothing that the schema does not know.
        self.assertEqual(set(report), set(self.schema()["properties"]))
        known = set(self.schema()["$defs"]["finding"]["properties"])
        for finding in report["findings"]:
            self.assertEqual(set(finding), known)

    def test_ndjson_has_a_finding_a_line(self):
        _, out, _ = run("check", "--format", "ndjson", *QUICK)
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertGreater(len(rows), 50)
        self.assertEqual(len({row["boot_id"] for row in rows}), 1)
        self.assertIn("cpu.psi", {row["id"] for row in rows})

    def test_openmetrics(self):
        _, out, _ = run("check", "--format", "openmetrics", *QUICK)
        self.assertTrue(out.endswith("# EOF\n"))
        seen = set()
        for line in out.splitlines():
            if line.startswith("#"):
                continue
            self.assertRegex(line, r'^culprit_[a-z_]+(\{([a-z]+="([^"\\\n]|\\.)*",?)+\})? -?[0-9.e+-]+$')
            name = line.rsplit(" ", 1)[0]
            self.assertNotIn(name, seen, "a series is there once")
            seen.add(name)
            self.assertNotRegex(line, r"\bpid\b")
        states = [s for s in seen if s.startswith("culprit_check_status") and 'check="cpu.psi"' in s]
        self.assertEqual(len(states), 5)

    def test_parser_of_the_python_client_takes_it(self):
        try:
            from prometheus_client.openmetrics.parser import text_string_to_metric_families
        except ImportError:
            self.skipTest("python3-prometheus-client is not installed")
        _, out, _ = run("check", "--format", "openmetrics", *QUICK)
        families = {family.name: family for family in text_string_to_metric_families(out)}
        states = [s for s in families["culprit_check_status"].samples if s.labels["check"] == "cpu.psi"]
        self.assertEqual(sorted(s.value for s in states), [0, 0, 0, 0, 1])
        for family in families.values():
            self.assertTrue(family.documentation, family.name)
            for sample in family.samples:
                self.assertNotIn("pid", sample.labels)

    def test_promtool_accepts_it(self):
        fetched = SOURCE + "/.deps/promtool/usr/bin/promtool"  # by ./dev test
        promtool = fetched if os.path.exists(fetched) else shutil.which("promtool")
        if not promtool:
            self.skipTest("promtool (Debian: prometheus) is neither installed nor fetched by ./dev test")
        _, out, _ = run("check", "--format", "openmetrics", *QUICK)
        done = subprocess.run([promtool, "check", "metrics"], input=out, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)

    def test_nagios(self):
        status, out, _ = run("check", "--format", "nagios", *QUICK)
        first = out.splitlines()[0]
        self.assertRegex(first, r"^CULPRIT (OK|WARNING|CRITICAL|UNKNOWN) - .* \|")
        self.assertEqual({"OK": 0, "WARNING": 1, "CRITICAL": 2, "UNKNOWN": 3}[first.split()[1]], status)
        perfdata = first.split("|", 1)[1]
        pattern = r" '[^'=]+'=-?[\d.e+-]+(%|s|ms)?;[\d.]*;[\d.]*"
        self.assertRegex(perfdata, f"^({pattern})+$")

    def test_exit_styles(self):
        with tempfile.TemporaryDirectory() as tree:
            os.makedirs(tree + "/proc")

            def put(available):
                with open(tree + "/proc/meminfo", "w", encoding="ascii") as file:
                    file.write(f"MemTotal: 1000 kB\nMemAvailable: {available} kB\n")

            for available, nagios, npd in ((500, 0, 0), (90, 1, 1), (10, 2, 1)):
                put(available)
                arguments = ["check", "--root", tree, "--only", "memory.available"]
                self.assertEqual(run(*arguments)[0], nagios)
                self.assertEqual(run(*arguments, "--exit-style", "npd")[0], npd)
            arguments = ["check", "--root", tree, "--only", "cpu.psi"]
            self.assertEqual(run(*arguments)[0], 3)
            self.assertEqual(run(*arguments, "--exit-style", "npd")[0], 2)

    def test_list_and_explain_name_every_row(self):
        _, out, _ = run("check", "--list", "--format", "json")
        rows = json.loads(out)["checks"]
        self.assertEqual(set(range(1, 72)) - {row["row"] for row in rows}, set(), "rows of the table without a check")
        _, text, _ = run("check", "--list")
        for row in rows:
            self.assertIn(row["id"], text)
            status, explained, _ = run("check", "--explain", row["id"])
            self.assertEqual(status, 0)
            self.assertIn("thresholds", explained)

    def test_documented_checks_are_those_of_the_program(self):
        with open(SOURCE + "/docs/checks.md", encoding="utf-8") as file:
            text = file.read()
        _, out, _ = run("check", "--list", "--format", "json")
        for row in json.loads(out)["checks"]:
            self.assertTrue(f"`{row['id']}`" in text, row["id"])

    def test_mistakes_are_one_line_with_a_remedy(self):
        for arguments, remedy in ((["--only", "cpu,dsk"], "disk"), (["--explain", "cpu.ps"], "cpu.psi"),
                                  (["--root", "/nonexistent"], "proc"), (["--sample", "x"], "30s"),
                                  (["--config", "/nonexistent"], ""), (["--watch", "1s", "--root", SOURCE], "")):
            status, out, err = run("check", *arguments)
            self.assertEqual(status, 3, arguments)
            self.assertEqual(out, "")
            self.assertEqual(len(err.splitlines()), 1, err)
            self.assertIn(remedy, err)

    def test_a_report_that_is_lost_is_unknown(self):
        for redirect, reason in ((">/dev/full", "No space left"), (">&-", "Bad file descriptor")):
            done = subprocess.run(["sh", "-c", f'"$0" check --only memory --sample 50ms {redirect}', os.environ["CULPRIT_PROGRAM"]],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 3)
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertIn(reason, done.stderr)

    def test_without_any_descriptor_it_ends(self):
        done = subprocess.run(["sh", "-c", '"$0" check --sample 50ms <&- >&- 2>&-', os.environ["CULPRIT_PROGRAM"]], timeout=60)
        self.assertEqual(done.returncode, 3)

    def test_probes_that_cannot_be_started_accuse_nobody(self):
        # No file descriptor is left for the pipe of a child: that is our own limit.
        if SANITIZED:
            self.skipTest("sanitizers need a descriptor of their own")
        done = subprocess.run(["prlimit", "--nofile=4", os.environ["CULPRIT_PROGRAM"], "check", "--format", "json", *QUICK],
                              capture_output=True, text=True, timeout=60)
        report = json.loads(done.stdout)
        for check_id in ("mount.hung", "culprit.probe"):
            found = findings(report, check_id)
            self.assertEqual([f["status"] for f in found], ["UNKNOWN"], found)
            self.assertIn("Too many open files", found[0]["skipped_reason"])
        self.assertNotEqual(report["verdict"], "OK")

    def test_config_by_id(self):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write("cpu.load warning=0.000001\nkernel.clock off\n")
            file.flush()
            report = check("--config", file.name, "--only", "cpu.load,kernel.clock", *QUICK)
        self.assertEqual(findings(report, "kernel.clock"), [])
        self.assertEqual(findings(report, "cpu.load")[0]["threshold"]["source"], file.name)

    def test_watch_ends_after_its_rounds(self):
        _, out, _ = run("check", "--only", "memory", "--watch", "200ms", "--rounds", "3", "--format", "json", *QUICK)
        decoder, reports = json.JSONDecoder(), []
        while out.strip():
            report, end = decoder.raw_decode(out.lstrip())
            reports.append(report)
            out = out.lstrip()[end:]
        self.assertEqual(len(reports), 3)

    def test_text_without_a_terminal_has_no_escapes(self):
        _, out, _ = run("check", "--all", *QUICK)
        self.assertNotIn("\x1b", out)
        self.assertIn("sat", out)

    def test_ordinary_user_hears_what_root_would_see(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to become somebody else")
        program = os.environ["CULPRIT_PROGRAM"]
        done = subprocess.run([program, "check", "--format", "json", *QUICK], capture_output=True, text=True,
                              user=65534, group=65534, extra_groups=[])
        if not done.stdout:
            self.skipTest("an ordinary user cannot run the program from here: " + done.stderr)
        report = json.loads(done.stdout)
        self.assertFalse(report["root"])
        log = findings(report, "kernel.lockup")[0]
        if log["status"] == "UNKNOWN":
            self.assertTrue(log["needs_root"])
            self.assertIn("kmsg", log["skipped_reason"])


if __name__ == "__main__":
    main()
