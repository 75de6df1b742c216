"""Every call that touches the disk, and every larger allocation, fails in every way it may: the program says so and what with,
breaks nothing, and goes on as if nothing had been once the fault is gone."""
import errno
import pathlib
import random
import re
import time

from trials import CODES, go_on, last_words
from workplace import broken_files, differences, snapshot

FAULTS = {
    "open": [errno.EIO, errno.EACCES, errno.EMFILE, errno.ENOSPC, errno.EROFS],
    "read": [errno.EIO, errno.ESTALE, "short"],
    "write": [errno.ENOSPC, errno.EIO, errno.EDQUOT, "short"],
    "flush": [errno.EIO, errno.ENOSPC],
    "rename": [errno.EIO, errno.EROFS, errno.ENOSPC, "done"],
    "link": [errno.EIO, errno.EEXIST, errno.EPERM, errno.ENOSPC, "done"],
    "remove": [errno.EIO, errno.EROFS, "done"],
    "folder": [errno.ENOSPC, errno.EROFS, errno.EDQUOT],
    "resize": [errno.ENOSPC, errno.EIO],
    "map": [errno.ENOMEM, errno.EIO],
    "lock": [errno.ENOLCK, errno.EINTR],
    "list": [errno.EIO],
    "memory": [errno.ENOMEM],
}


def name_of(what):
    return what if isinstance(what, str) else errno.errorcode[what]


def fail_once(place, reference, book, draw, call, what):
    scenario = reference.scenario
    place.fresh_trial(reference.prepared)
    before = snapshot(place.trial)
    number = draw.randint(1, reference.counts[call])
    always = draw.random() < 0.4 and what not in ("done", errno.EINTR)  # no call is interrupted for ever
    fault = f"{call}:{number}:{what}{':always' if always else ''}"
    ended = place.run(scenario.command, fault=fault)
    title = f"{scenario.name}, {call} fails with {name_of(what)} from time {number} on" if always else \
        f"{scenario.name}, {call} {number} fails with {name_of(what)}"
    if not ended.fired:
        book.add("faults not reached", call, name_of(what))
        return
    book.add("faults", call, name_of(what))
    site = re.sub(r"[0-9]+", "N", ended.fired[0].split(" ", 2)[2].replace(str(place.trial), ""))
    book.add("fault sites", scenario.name, call, site)
    wrong = []
    if ended.timed_out:
        wrong.append("hangs")
    elif call == "memory" and (library := crashed_library(ended)):
        book.add("libraries that end the process without memory", library)
    elif ended.code < 0:
        wrong.append(f"ended by signal {-ended.code}: {last_words(ended.err)}")
    elif ended.code not in CODES:
        wrong.append(f"exit code {ended.code}: {last_words(ended.err)}")
    elif ended.code == 0:
        left = less_what_stays(call, differences(reference.files, snapshot(place.trial)))
        if left and not says_what_is_missing(ended, place, reference):
            wrong += [f"exit code 0, but {d}" for d in left]
    elif call != "memory" and not names_a_file(ended.err, place, reference):
        wrong.append(f"names no file: {last_words(ended.err)}")
    wrong += [f"half a file: {b}" for b in broken_files(place.trial)]
    if ended.code != 0:  # a command that succeeds was judged by what it leaves
        wrong += lost(before, reference, place, ended.err)
    if not wrong and ended.code != 0:
        wrong, _ = go_on(place, reference)
        if call in ("open", "read"):  # an image that could not be read has no map, which the log of the run says
            wrong = [w for w in wrong if not w.endswith("attention.safetensors is another")]
        wrong = less_what_stays(call, wrong)
    if wrong:
        book.finding("faults", f"{title}: {'; '.join(wrong)}", fault=fault, fired=ended.fired[:3], said=ended.err[-600:])


def less_what_stays(call, wrong):
    """What could not be removed lies about, and does no harm."""
    return [w for w in wrong if call != "remove" or not (w.startswith("left behind") or w.endswith("is left over"))]


def crashed_library(ended):
    """The name of one that is not ours, and could not bear to be without memory."""
    places = [line.split(" ", 2)[2].rsplit("/", 1)[-1] for line in ended.fired if line.startswith("crash ")]
    return next((place for place in places if place.startswith("lib")), None)


def says_what_is_missing(ended, place, reference):
    """Whether a line that the undisturbed command did not say, a log that such a line names, or a list of images that were left
    out, names what failed. Without memory no file is at fault, and a new line has to speak of memory."""
    told = "\n".join(line for line in ended.err.splitlines() if line not in reference.said)
    lists = [path for path in place.trial.rglob("*") if path.name.endswith("skipped.csv") or (path.suffix == ".log" and str(path) in told)]
    told += "\n".join(path.read_text(errors="replace") for path in lists)
    failed = {pathlib.PurePath(line.split(" ", 2)[2]).name for line in ended.fired if not line.startswith("crash ")}
    failed = {name.removeprefix(".").removesuffix(".partial") for name in failed if name}
    return any(name in told for name in failed or {"memory", "allocate"})


def names_a_file(text, place, reference):
    names = {name.rsplit("/", 1)[-1] for name in reference.files}
    said = " ".join(line for line in text.splitlines() if not line.startswith(("info", "warning")))
    return str(place.folder) in said or any(name in said for name in names)


def lost(before, reference, place, said):
    """What was there before a command and is neither as it was nor as the command leaves it; less what it says it has written of the
    images that it could read."""
    now = snapshot(place.trial)
    if reference.scenario.name == "train over an earlier run":
        return []  # what replaces a run is resumed; the old one was given up by --overwrite
    return [f"lost: {name}" for name in before if now.get(name) not in (before[name], reference.files.get(name)) and f"are in {place.trial / name}" not in said]


def part(place, references, book, until, seed):
    draw = random.Random(seed)
    while time.monotonic() < until:
        reference = references.of(draw.choice(references.names))
        # The rarer a fault has been, the sooner it comes.
        possible = [(call, what) for call in FAULTS if reference.counts[call] for what in FAULTS[call]]
        call, what = min(possible, key=lambda f: (book.counts[f"faults | {f[0]} | {name_of(f[1])}"], draw.random()))
        fail_once(place, reference, book, draw, call, what)
