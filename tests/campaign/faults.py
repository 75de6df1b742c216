"""Every call that touches the disk, and every larger allocation, fails in every way it may: the program says so and what with,
breaks nothing, and goes on as if nothing had been once the fault is gone."""
import collections
import errno
import pathlib
import random
import time

from trials import CODES, go_on, last_words, site_of
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


def kind_of(what, always):
    return name_of(what) + (" from then on" if always else "")


def lasts(what):
    """Whether it can fail from one time on: what was done is done, and no call is interrupted for ever."""
    return what not in ("done", errno.EINTR)


def all_kinds():
    return [(call, what, always) for call, whats in FAULTS.items() for what in whats for always in ([False, True] if lasts(what) else [False])]


def fail_once(place, reference, book, draw, call, site, what, always):
    scenario = reference.scenario
    place.fresh_trial(reference.prepared)
    before = snapshot(place.trial)
    number = draw.choice(reference.sites[call, site])
    fault = f"{call}:{number}:{what}{':always' if always else ''}"
    ended = place.run(scenario.command, fault=fault)
    title = f"{scenario.name}, {call} fails with {name_of(what)} from time {number} on" if always else \
        f"{scenario.name}, {call} {number} fails with {name_of(what)}"
    if not ended.fired:
        book.add("faults not reached", call, kind_of(what, always))
        return
    book.add("faults", call, kind_of(what, always))
    book.add("fault sites", scenario.name, call, site_of(ended.fired[0].split(" ", 2)[2], place))
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
    elif call != "memory" and not names_what_failed(ended, place):
        wrong.append(f"does not name what failed: {last_words(ended.err)}")
    wrong += [f"half a file: {b}" for b in broken_files(place.trial)]
    if ended.code != 0:  # a command that succeeds was judged by what it leaves
        wrong += lost(before, reference, place, ended.err)
    if not wrong and ended.code != 0:
        wrong, _ = go_on(place, reference)
        if call in ("open", "read"):  # an image that could not be read has no map, which the log of the run says
            wrong = [w for w in wrong if not w.endswith("attention.safetensors is another")]
        if a_cell_did_without(ended, place):
            wrong = [w for w in wrong if "/cells/" not in w or w.startswith(("left behind", "half a file"))]
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
    failed = {real_name(path) for path in failed_paths(ended)}
    return any(name in told for name in failed or {"memory", "allocate"})


def a_cell_did_without(ended, place):
    """Whether a cell of a sweep ended well without an image or its page, and says so."""
    told = [line for log in place.trial.glob("sweep/cells/*/*.log") for line in log.read_text(errors="replace").splitlines() if "warning: " in line]
    told += [line for skipped in place.trial.glob("sweep/cells/*/run/skipped.csv") for line in skipped.read_text(errors="replace").splitlines()]
    return any(word in line for word in {"has no report", *map(real_name, failed_paths(ended))} for line in told)


def failed_paths(ended):
    return [pathlib.PurePath(path) for line in ended.fired if not line.startswith("crash ") and (path := line.split(" ", 2)[2])]


def real_name(path):
    """What a file is called once it is whole."""
    return path.name.removeprefix(".").removesuffix(".partial")


def names_what_failed(ended, place):
    """Whether the error itself, or a list of images below it, but not its advice, names a file that failed or a folder of the trial
    that it is in."""
    said = " ".join(line for line in ended.err.splitlines() if "error: " in line or line.startswith("  /"))
    above = {place.folder, *place.folder.parents, place.trial, place.material}
    return any(real_name(path) in said or str(path.parent) in said or any(str(p) in said for p in path.parents if pathlib.Path(p) not in above)
               for path in failed_paths(ended))


def lost(before, reference, place, said):
    """What was there before a command and is neither as it was nor as the command leaves it; less what it says it has written of the
    images that it could read."""
    now = snapshot(place.trial)
    if reference.scenario.name == "train over an earlier run" or reference.scenario.killed:
        return []  # what replaces a run is resumed, as the old one was given up; what goes on with a run adds to its files
    return [f"lost: {name}" for name in before if now.get(name) not in (before[name], reference.files.get(name)) and f"are in {place.trial / name}" not in said]


def part(place, references, book, until, seed):
    draw, aimed = random.Random(seed), collections.Counter()
    while time.monotonic() < until:
        reference = references.of(draw.choice(references.names))
        sites = [place for place in reference.sites if place[0] in FAULTS]
        for call, site in sites:
            book.add("fault sites", reference.scenario.name, call, site, number=0)
        # The rarer a kind of fault or a place has been, the sooner it comes.
        how_often = lambda kind: (book.counts[f"faults | {kind[0]} | {kind_of(*kind[1:])}"], draw.random())
        hits = lambda at: (book.counts[f"fault sites | {reference.scenario.name} | {at[0]} | {at[1]}"] + aimed[reference.scenario.name, at] / 2,
                           draw.random())
        if draw.random() < 0.4:
            call, what, always = min((kind for kind in all_kinds() if reference.counts[kind[0]]), key=how_often)
            at = min((at for at in sites if at[0] == call), key=hits)
        else:
            at = min(sites, key=hits)
            call, what, always = min((kind for kind in all_kinds() if kind[0] == at[0]), key=how_often)
        aimed[reference.scenario.name, at] += 1
        fail_once(place, reference, book, draw, call, at[1], what, always)
