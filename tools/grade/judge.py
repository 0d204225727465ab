"""Judges an explanation by a known truth: is the culprit named first, is its share right, who is accused falsely.

A truth is what `culprit lab` prints (docs/lab.md); an explanation is the JSON of `culprit explain`. Findings about
processes that have nothing to do with the scenario (other load of this machine) are set apart: they may well be true.
"""
import dataclasses

ABOVE_INFO = ("warn", "crit")


@dataclasses.dataclass
class Verdict:
    first: bool          # of the findings about the scenario, the first one names the culprit
    found: bool          # some finding does
    said: float          # the culprit's share of the victims' windows; 0 when it is not found
    measured: float
    false: list          # findings above info that accuse somebody else of the scenario
    foreign: int         # findings above info about others on this machine
    named: str           # what the first finding said, for the reader

    def share_ok(self):
        """Within 10 % relative or 2 points."""
        off = abs(self.said - self.measured)
        return off <= 0.02 or off <= 0.1 * self.measured


def disk_names(name):
    try:
        with open(f"/sys/block/{name}/dev", encoding="utf-8") as file:
            return {name, file.read().strip()}
    except OSError:
        return {name}


def pids_of(truth):
    guilty = truth["culprit"]
    pids = {guilty["pid"]} if guilty.get("pid") else set()
    return pids | {also["pid"] for also in guilty.get("also", [])}


def tids_of(truth):
    guilty = truth["culprit"]
    return set(guilty.get("tids", [])) | {tid for also in guilty.get("also", []) for tid in also["tids"]}


# kind of truth -> does a finding name it? f: finding, c: its culprit, t: the truth
MATCHES = {
    "preempted-by": lambda f, c, t: c["pid"] in pids_of(t),
    "oversubscribed": lambda f, c, t: f["id"] == "cpu.oversubscribed",
    "lock-holder": lambda f, c, t: c["tid"] in tids_of(t) or (c["type"] == "process" and c["pid"] in pids_of(t)),
    "lock-convoy": lambda f, c, t: f["kind"] == "lock" and c["pid"] in pids_of(t),
    "disk": lambda f, c, t: f["kind"] in ("disk", "dstate", "memory") and
            (c["pid"] in pids_of(t) or bool({c["name"], c["device"]} & disk_names(t["culprit"]["device"]))),
    "vfork-child": lambda f, c, t: "vfork" in f["id"] + f["summary"] or f["id"].startswith("child") or
            c["name"] == "dstate_child",
    "sleep": lambda f, c, t: f["kind"] == "producer" and c["pid"] in pids_of(t),
    "slow-consumer": lambda f, c, t: c["pid"] in pids_of(t),
    "straggler": lambda f, c, t: c["pid"] in pids_of(t) or
            (bool(t["culprit"].get("device")) and bool({c["name"], c["device"]} & disk_names(t["culprit"]["device"]))),
    "throttle": lambda f, c, t: f["kind"] == "throttle",
    "reclaim": lambda f, c, t: f["kind"] == "memory" or f["id"] in ("dstate.reclaim", "dstate.writeback"),
    "swap": lambda f, c, t: f["kind"] == "memory" or "swap" in f["id"],
    "softirq": lambda f, c, t: f["kind"] == "irq" or "softirq" in c["name"] or c["pid"] in pids_of(t),
    "priority-inversion": lambda f, c, t: c["pid"] in pids_of(t),
    "stopped": lambda f, c, t: f["kind"] == "signal",
}


def is_foreign(finding, ours):
    """About a process that the scenario did not start."""
    culprit = finding["culprit"]
    return culprit["type"] in ("thread", "process") and culprit["pid"] not in ours


def judge(truth, explanation, ours):
    """`ours`: the pids of the scenario's processes."""
    victims = {victim["tid"]: victim["wall_ns"] for victim in truth["victims"]}
    guilty = truth["culprit"]
    match = MATCHES.get(guilty["kind"], lambda f, c, t: False)
    own = [finding for finding in explanation["findings"] if not is_foreign(finding, ours)]
    foreign = [finding for finding in explanation["findings"]
               if is_foreign(finding, ours) and finding["level"] in ABOVE_INFO]
    hits = [finding for finding in own if match(finding, finding["culprit"], truth)]
    said = 0.0
    if hits:
        same = [hit for hit in hits if hit["id"] == hits[0]["id"]]
        waited = sum(row["wait_ns"] for hit in same for row in hit["by_victim"] if row["tid"] in victims)
        said = waited / max(sum(victims.values()), 1)
    # The culprit's other doings are no false accusation, nor is the device that its fault goes through.
    devices = disk_names(guilty["device"]) if guilty.get("device") else set()
    false = [finding for finding in own
             if finding not in hits and finding["level"] in ABOVE_INFO and
             finding["culprit"]["pid"] not in pids_of(truth) and
             not devices & {finding["culprit"]["name"], finding["culprit"]["device"]}]
    named = f"{own[0]['id']} {own[0]['culprit']['name']}" if own else "nothing"
    return Verdict(first=bool(own) and own[0] in hits, found=bool(hits), said=said,
                   measured=guilty.get("share", 0.0), false=false, foreign=len(foreign), named=named)
