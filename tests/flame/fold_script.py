"""Folds the text of perf script with a few lines of Python: the second opinion of the tests."""
import collections
import re

HEADER = re.compile(r"^\s*(?P<comm>\S.*?)\s+(?P<pid>-?\d+)(?:/(?P<tid>-?\d+))?\s+(?:\[(?P<cpu>\d+)\]\s+)?"
                    r"(?P<time>\d+\.\d+):\s+(?:(?P<period>\d+)\s+)?(?P<event>\S+):\s*(?P<rest>.*)$")
FRAME = re.compile(r"^\s*(?P<ip>[0-9a-f]+)\s+(?P<symbol>.+)\s+\((?P<dso>(?:[^()]|\([^()]*\))*)\)\s*$")


def name_of(frame):
    symbol = re.sub(r"\+0x[0-9a-f]+$", "", frame["symbol"])
    if symbol in ("[unknown]", "@plt"):  # perf writes @plt where it has no name for the entry
        module = frame["dso"].rsplit("/", 1)[-1].strip("[]")
        return f"[{module.removesuffix('.ko')}]"
    return symbol.replace(";", ":")


def fold(text):
    """{event: {folded stack: sum of periods}}"""
    out = collections.defaultdict(collections.Counter)
    header, frames = None, []

    def finish():
        if header is not None:
            stack = ";".join([header["comm"], *reversed(frames)])
            out[header["event"]][stack] += int(header["period"] or 1) or 1

    for line in text.splitlines():
        frame = FRAME.match(line)
        match = HEADER.match(line)
        if match:
            finish()
            header, frames = match, []
            own = FRAME.match(match["rest"])
            if own:
                frames.append(name_of(own))
        elif frame and header is not None:
            frames.append(name_of(frame))
    finish()
    return out


def read_folded(text):
    out = collections.Counter()
    for line in text.splitlines():
        stack, _, weight = line.rpartition(" ")
        out[stack] += int(weight)
    return out


def short(stack):
    """Without parameter lists, which perf prints of demangled names and we do not, and with the innermost 127
    frames: where perf script cuts, and we do not."""
    comm, *frames = stack.split(";")
    return ";".join([comm, *frames[-127:]]) if not re.search("[(]", stack) else ";".join(re.sub(r"\((?!anonymous namespace\)).*", "", frame) or frame for frame in stack.split(";"))


def callers_of_no_return(stack):
    """perf names a return address that lies behind a function's last instruction after the next function. In
    the dynamic linker _start ends in the call of _dl_start, and _dl_start_user follows it."""
    return stack.replace(";_dl_start_user;", ";_start;")


def difference(ours, theirs):
    """Lines that differ, as text."""
    a, b = collections.Counter(), collections.Counter()
    for stack, weight in ours.items():
        a[callers_of_no_return(short(stack))] += weight
    for stack, weight in theirs.items():
        b[callers_of_no_return(short(stack))] += weight
    return [f"{stack}: {a[stack]}, perf has {b[stack]}" for stack in sorted(set(a) | set(b)) if a[stack] != b[stack]]
