"""What happens to programs in real life: signals, closed terminals, a second process in the same folder or beside it, clocks that
jump, folders that move away, few or many cores, little memory. Each says what was wrong, or `IDLE` where it met nothing to disturb."""
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import time

from faults import crashed_library
from scenarios import OFTEN
from trials import CODES, go_on, last_words
from workplace import DATA, TRAIN, broken_files, differences, kill_group, snapshot, with_epochs


IDLE = None


class Signals:
    """A signal at any moment: the program stops in order or is ended, and goes on to the same bytes."""

    def __init__(self, number):
        self.number, self.name = number, signal.Signals(number).name

    def __call__(self, place, reference, draw):
        moment = draw.uniform(0.05, reference.seconds)
        ended = place.run(reference.scenario.command, at=[(moment, lambda p: p.send_signal(self.number))])
        if not ended.acted:
            return IDLE
        allowed = {0, 130, -self.number}
        if ended.code not in allowed or ended.timed_out:
            return [f"exit code {ended.code} after {moment:.2f} s: {last_words(ended.err)}"]
        return broken_files(place.trial) or go_on(place, reference)[0]


class Twice(Signals):
    """A person presses Ctrl-C twice."""

    def __call__(self, place, reference, draw):
        moment = draw.uniform(0.05, reference.seconds)
        press = lambda process: process.send_signal(signal.SIGINT)
        ended = place.run(reference.scenario.command, at=[(moment, press), (moment + 0.02, press)])
        if not ended.acted:
            return IDLE
        if ended.code not in (0, 130, -signal.SIGINT) or ended.timed_out:
            return [f"exit code {ended.code}: {last_words(ended.err)}"]
        return broken_files(place.trial) or go_on(place, reference)[0]


def stop_and_continue(place, reference, draw):
    """Ctrl-Z and fg, or a laptop's lid."""
    moment = draw.uniform(0.05, reference.seconds)
    ended = place.run(reference.scenario.command, at=[(moment, lambda p: os.killpg(p.pid, signal.SIGSTOP)),
                                                      (moment + 0.3, lambda p: os.killpg(p.pid, signal.SIGCONT))])
    if not ended.acted:
        return IDLE
    return ended_well(place, reference, ended)


def nobody_listens(place, reference, draw):
    """stdout is a pipe whose reader is gone."""
    if not reference.speaks:
        return IDLE
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        ended = place.run(reference.scenario.command, output=closed)
    if ended.code not in CODES | {-signal.SIGPIPE}:
        return [f"exit code {ended.code}: {last_words(ended.err)}"]
    return broken_files(place.trial) or go_on(place, reference)[0]


def the_clock_jumps(place, reference, draw):
    jump = draw.choice([-400 * 86400, -3600, 3600, 400 * 86400])
    ended = place.run(reference.scenario.command, clock=f"{draw.randint(1, 60)}:{jump}")
    if not ended.fired:
        return IDLE
    return ended_well(place, reference, ended)


def two_at_once(place, reference, draw):
    """The same command twice: one does it and the other is refused or does the same; what is there in the end is whole."""
    scenario = reference.scenario
    with open(place.scratch / "other", "w+b") as said:
        other = place.start(scenario.command, errors=said)
        time.sleep(draw.uniform(0, reference.seconds))
        ended = place.run(scenario.command)
        try:
            other.wait(120)
        except Exception:
            kill_group(other)
            return ["the first of two hangs"]
        said.seek(0)
        text = said.read().decode(errors="replace")
    if ended.timed_out:
        return ["the second of two hangs"]
    for code, words in ((other.returncode, text), (ended.code, ended.err)):
        if code not in CODES:
            return [f"exit code {code} beside another: {last_words(words)}"]
    if other.returncode != 0 and ended.code != 0:
        return broken_files(place.trial) or go_on(place, reference)[0]
    return broken_files(place.trial) + differences(reference.files, snapshot(place.trial))


# What people do with a run: also while something else is done with it.
OF_A_RUN = {
    "predict": ["predict", "--model", "{trial}/run", "--images", "{material}/demo/outliers", "--threads", 1, "--out", "{aside}/p.csv", "--overwrite"],
    "embed": ["embed", "--model", "{trial}/run", "--images", "{material}/demo/outliers", "--threads", 1, "--out", "{aside}/f.npy", "--overwrite"],
    "evaluate": ["evaluate", "--model", "{trial}/run", *DATA, "--threads", 1],
    "ood": ["ood", "--model", "{trial}/run", "--id", "{material}/demo/unlabelled", "--outliers", "{material}/demo/outliers", "--threads", 1],
    "retrieve": ["retrieve", "--model", "{trial}/run", "--threads", 1, "--out", "{aside}/examples", "--overwrite"],
    "report": ["report", "{trial}/run", "--threads", 1],
    "attention": ["attention", "--model", "{trial}/run", "--images", "{material}/demo/outliers", "--threads", 1, "--out", "{aside}/attention",
                  "--overwrite"],
    "cluster": ["cluster", "--model", "{trial}/run", *DATA, "--k", 16, "--threads", 1, "--out", "{aside}/clusters.csv", "--overwrite"],
    "compare": ["compare", "{trial}/run", "{material}/run", "--out", "{aside}/compared.html", "--overwrite"],
    "labels": ["labels", "{trial}/run"],
    "sort": ["sort", "{trial}/run", "--out", "{aside}/sorted", "--overwrite"],
    "weights export": ["weights", "export", "--model", "{trial}/run", "--out", "{aside}/trained.safetensors", "--overwrite"],
    "train --from": ["train", *TRAIN, "--k", 16, "--from", "{trial}/run", "--report=false", "--out", "{aside}/next", "--overwrite"],
    "discover --previous": ["discover", *TRAIN, "--k", 16, "--report=false", "--previous", "{trial}/run", "--out", "{aside}/round", "--overwrite"],
    "train --resume": ["train", "--out", "{trial}/run", "--resume"],
    "train --overwrite": ["train", *TRAIN, "--k", 16, "--report=false", "--out", "{trial}/run", "--overwrite"],
}


def words_of(name, aside):
    return [str(word).replace("{aside}", str(aside)) for word in OF_A_RUN[name]]


def each_verb_alone(place):
    """What is wrong with a pair must not be wrong with one."""
    aside = place.folder / "aside"
    for name in OF_A_RUN:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        place.fresh_trial()
        for words in ([] if name == "train --overwrite" else [OF_A_RUN["train --overwrite"]]) + [words_of(name, aside)]:
            ended = place.run(words)
            if ended.code != 0:
                raise SystemExit(f"{name} of a finished run: exit code {ended.code}: {ended.err}")
        if broken := broken_files(aside):
            raise SystemExit(f"{name} of a finished run: {broken}")


def two_verbs_at_one_run(place, first, second, draw):
    """Two verbs at the same run at once, a finished or an unfinished one: each does its work or says why not, and
    afterwards the run is whole and any verb works with it."""
    aside = place.folder / "aside"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    shutil.rmtree(place.trial, ignore_errors=True)
    place.trial.mkdir()
    begun = place.run([*with_epochs(OF_A_RUN["train --overwrite"], 6), *OFTEN],
                      at=[(draw.uniform(0.1, 1.5), kill_group)] if draw.random() < 0.5 else None)
    if begun.code not in (0, -signal.SIGKILL):
        raise SystemExit(f"the campaign cannot make a run for two verbs: {begun.err}")
    if not (place.trial / "run/config.toml").exists():
        return IDLE
    pair = f"{first} and {second}, {'unfinished' if begun.code else 'finished'}"
    with open(place.scratch / "other", "w+b") as said:
        other = place.start(words_of(first, aside), errors=said)
        time.sleep(draw.uniform(0, 0.4))
        ended = place.run(words_of(second, aside))
        try:
            other.wait(120)
        except subprocess.TimeoutExpired:
            kill_group(other)
            return [f"{pair}: the first hangs"]
        said.seek(0)
        text = said.read().decode(errors="replace")
    for code, words in ((other.returncode, text), (ended.code, ended.err)):
        if code not in CODES:
            return [f"{pair}: exit code {code}: {last_words(words)}"]
    if wrong := broken_files(place.trial) + broken_files(aside):
        return [f"{pair}: {w}" for w in wrong]
    going_on = place.run(OF_A_RUN["train --resume"])
    if going_on.code not in (0, 2) or (going_on.code == 2 and "finished" not in going_on.err and "--resume" not in going_on.err):
        return [f"{pair}: then --resume: exit code {going_on.code}: {last_words(going_on.err)}"]
    for name in ("evaluate", "predict", "labels"):
        after = place.run(words_of(name, aside))
        if after.code != 0:
            return [f"{pair}: then {name}: exit code {after.code}: {last_words(after.err)}"]
    return []


def the_folder_moves_away(place, reference, draw):
    """Somebody renames the folder that a command is writing into: an error that names it, or it was done before; what was
    written is whole, wherever it is now."""
    aside = place.folder / "aside"
    shutil.rmtree(aside, ignore_errors=True)

    def move(process):
        if place.trial.exists():
            place.trial.rename(aside)

    ended = place.run(reference.scenario.command, at=[(draw.uniform(0.05, reference.seconds), move)])
    if not ended.acted or not aside.exists():
        return IDLE
    if ended.code not in CODES or ended.timed_out:
        return [f"exit code {ended.code}: {last_words(ended.err)}"]
    if ended.code not in (0, 130) and str(place.trial) not in ended.err:
        return [f"names no file: {last_words(ended.err)}"]
    broken = broken_files(aside)
    if broken:
        return broken
    shutil.rmtree(place.trial, ignore_errors=True)
    aside.rename(place.trial)
    return go_on(place, reference)[0]


def the_folder_is_removed(place, reference, draw):
    """Somebody deletes the folder that a command is writing into: an error that names it or what was in it, and the command can be
    given again."""
    remove = lambda process: shutil.rmtree(place.trial, ignore_errors=True)
    ended = place.run(reference.scenario.command, at=[(draw.uniform(0.05, reference.seconds), remove)])
    if not ended.acted:
        return IDLE
    if ended.code not in CODES or ended.timed_out:
        return [f"exit code {ended.code}: {last_words(ended.err)}"]
    if ended.code not in (0, 130) and str(place.trial) not in ended.err:
        return [f"names no file: {last_words(ended.err)}"]
    place.fresh_trial(reference.prepared)
    return ended_well(place, reference, place.run(reference.scenario.command))


def another_run_beside_it(place, reference, draw):
    """A training in another folder changes nothing in the result."""
    aside = place.folder / "aside"
    shutil.rmtree(aside, ignore_errors=True)
    other = place.start(with_epochs(["train", *TRAIN, "--k", 16, "--report=false", "--out", aside / "run"], 100_000))
    try:
        ended = place.run(reference.scenario.command)
        if other.poll() is not None:
            return [f"the training beside it ended with exit code {other.returncode}"]
    finally:
        kill_group(other)
        other.wait()
    return ended_well(place, reference, ended)


class Threads:
    """With any number of threads the work is done; what they compute may differ in the last digits."""

    def __init__(self, number):
        self.number, self.name = number, f"{number} threads"

    def __call__(self, place, reference, draw):
        words = list(reference.scenario.command)
        if "--threads" not in words:
            return IDLE
        words[words.index("--threads") + 1] = self.number
        ended = place.run(words)
        if ended.code != 0:
            return [f"exit code {ended.code}: {last_words(ended.err)}"]
        names = differences({name: 0 for name in reference.files}, {name: 0 for name in snapshot(place.trial)})
        return broken_files(place.trial) + names


def little_memory(place, reference, draw):
    """A limit on what a process may have in memory: it works, or says what to lower, and goes on where there is more.
    Below what libtorch itself takes, libraries may crash."""
    megabytes = draw.choice([64, 128, 256, 512])
    ended = place.run(reference.scenario.command, limit=(resource.RLIMIT_DATA, (megabytes << 20, megabytes << 20)), shim=True)
    if ended.code == 0:
        return differences(reference.files, snapshot(place.trial))
    if megabytes < 256 and crashed_library(ended):
        return broken_files(place.trial) or go_on(place, reference)[0]
    if ended.code not in CODES or ended.timed_out:
        return [f"{megabytes} MB: exit code {ended.code}: {last_words(ended.err)}"]
    if not any(word in ended.err for word in ("memory", "allocate", "lower --threads")):
        return [f"{megabytes} MB: does not speak of memory: {last_words(ended.err)}"]
    return broken_files(place.trial) or go_on(place, reference)[0]


class MemoryGroup:
    """A control group (version 1 or 2) with a limit, below the one that the campaign is in; false where none can be made."""

    def __init__(self, name, megabytes):
        groups = dict(line.strip().split(":", 2)[1:] for line in open("/proc/self/cgroup"))
        version_1 = "memory" in groups
        above = pathlib.Path("/sys/fs/cgroup", "memory" if version_1 else "", groups.get("memory", groups.get("", "/")).lstrip("/"))
        self.folder = above / name
        try:
            self.folder.mkdir(exist_ok=True)
            (self.folder / ("memory.limit_in_bytes" if version_1 else "memory.max")).write_text(str(megabytes << 20))
        except OSError:
            self.folder = None

    def __bool__(self):
        return self.folder is not None

    def enter(self):
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self):
        try:
            self.folder.rmdir()
        except OSError:
            pass  # a process that is ending is still in it


def a_small_container(place, reference, draw):
    """512 MB for a process and the files that it touches, as a container has them: it is never ended by the system."""
    group = MemoryGroup(f"protogcd-{os.getpid()}-{place.folder.name}", 512)
    if not group:
        return IDLE
    ended = place.run(reference.scenario.command, before=group.enter)
    group.remove()
    return ended_well(place, reference, ended)


def ended_well(place, reference, ended):
    if ended.code != 0 or ended.timed_out:
        return [f"exit code {ended.code}: {last_words(ended.err)}"]
    return broken_files(place.trial) + differences(reference.files, snapshot(place.trial))


DISTURBANCES = {
    **{s.name: s for s in map(Signals, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT))},
    "SIGINT twice": Twice(signal.SIGINT),
    "SIGSTOP and SIGCONT": stop_and_continue,
    "a closed pipe": nobody_listens,
    "the clock jumps": the_clock_jumps,
    "two at once": two_at_once,
    "another run beside it": another_run_beside_it,
    "the folder moves away": the_folder_moves_away,
    "the folder is removed": the_folder_is_removed,
    **{t.name: t for t in map(Threads, (1, 2, 16))},
    "little memory": little_memory,
    "a small container": a_small_container,
}


def part(place, references, book, until, seed):
    draw = random.Random(seed)
    while time.monotonic() < until:
        name = min(DISTURBANCES, key=lambda n: (book.counts[f"disturbances | {n}"], draw.random()))
        reference = references.of(draw.choice(references.names))
        place.fresh_trial(reference.prepared)
        wrong = DISTURBANCES[name](place, reference, draw)
        if wrong is IDLE:
            continue
        book.add("disturbances", name)
        if wrong:
            book.finding("disturbances", f"{reference.scenario.name}, {name}: {'; '.join(wrong)}")


def part_of_pairs(place, references, book, until, seed):
    draw = random.Random(seed)
    each_verb_alone(place)
    pairs = [f"{one} and {other}" for one in OF_A_RUN for other in OF_A_RUN]
    for pair in pairs:
        book.add("pairs of verbs", pair, number=0)
    while time.monotonic() < until:
        # The rarer a pair has been, the sooner it comes.
        pair = min(pairs, key=lambda name: (book.counts[f"pairs of verbs | {name}"], draw.random()))
        wrong = two_verbs_at_one_run(place, *pair.split(" and "), draw)
        if wrong is IDLE:
            continue
        book.add("pairs of verbs", pair)
        if wrong:
            book.finding("pairs of verbs", "; ".join(wrong))
