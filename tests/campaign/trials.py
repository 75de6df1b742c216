"""What an undisturbed command leaves, how a disturbed one is gone on with, and whether the two are the same."""
import collections
import json
import re
import shutil
import signal
import threading

from workplace import broken_files, differences, hidden, files_of, snapshot

CODES = {0, 2, 3, 4, 5, 6, 7, 8, 130}  # docs/exit-codes.md; 1 is a bug of ours


class Reference:
    """A scenario undisturbed: what it leaves, how long it takes, and how often it touches its folder."""

    def __init__(self, place, scenario):
        self.scenario = scenario
        self.prepared = None
        if scenario.prepare or scenario.killed:
            place.fresh_trial()
            for words in scenario.prepare:
                ended = place.run(words)
                if ended.code != 0:
                    raise SystemExit(f"{scenario.name}: {ended.err}")
            if scenario.killed:
                words, change = scenario.killed
                ended = place.run(words, fault=f"change:{change}:kill")
                if ended.code != -signal.SIGKILL:
                    raise SystemExit(f"{scenario.name}: exit code {ended.code} instead of a kill: {ended.err}")
            self.prepared = place.scratch / "prepared" / scenario.name
            shutil.rmtree(self.prepared, ignore_errors=True)
            shutil.copytree(place.trial, self.prepared, symlinks=True)
        log = place.scratch / "log"
        for attempt in range(2):
            log.unlink(missing_ok=True)
            place.fresh_trial(self.prepared)
            ended = place.run(scenario.command, log=log if attempt else None)
            if ended.code != 0:
                raise SystemExit(f"{scenario.name}: {ended.err}")
            if attempt == 0:
                self.files, self.seconds, self.said = snapshot(place.trial), ended.seconds, set(ended.err.splitlines())
                self.speaks = bool(ended.out)
        again = snapshot(place.trial)
        self.is_repeatable = differences(self.files, again)
        self.left = [str(p.relative_to(place.trial)) for p in files_of(place.trial) if hidden(p, place.trial)]
        self.counts = collections.Counter()
        self.sites = collections.defaultdict(list)  # (call, site): the numbers of its calls there
        for line in log.read_text(errors="replace").splitlines():
            call, number, path = line.split(" ", 2)
            self.counts[call] = max(self.counts[call], int(number))
            self.sites[call, site_of(path, place)].append(int(number))
        if self.counts["memory"]:  # counted, not listed
            self.sites["memory", ""] = range(1, self.counts["memory"] + 1)


def site_of(path, place):
    """A file or folder by its place in the trial; those that differ in their numbers are one."""
    return re.sub(r"[0-9]+", "N", path.replace(str(place.trial), "").replace(str(place.folder), ""))


def go_on(place, reference, disturb=None, most=8):
    """Does what the program's own words say until the command is done. `disturb`, if given, runs each try, may stop it in some way
    and tells whether it did. Returns what is wrong, in words, and how many tries it took."""
    scenario, words, said = reference.scenario, reference.scenario.command, []
    for attempt in range(most):
        ended, was_disturbed = disturb(words) if disturb else (place.run(words), False)
        if ended.timed_out:
            return [f"hangs: {' '.join(map(str, words[:2]))}"], attempt
        if broken := broken_files(place.trial):
            return [f"half a file: {b}" for b in broken], attempt
        said.append(f"{ended.code} {last_words(ended.err)}")
        if ended.code == 0:
            break
        if ended.code < 0:
            continue
        if ended.code == 2 and "--resume" in ended.err and words != scenario.resumed:
            words = scenario.resumed
        elif ended.code == 2 and "--overwrite" in ended.err:
            now = snapshot(place.trial)
            if not differences(reference.files, now):
                break  # it had been finished
            other = [name for name in reference.files.keys() & now.keys() if reference.files[name] != now[name]]
            if disturb and other and "--resume" not in ended.err:
                return [f"{name} stands finished and is another" for name in other[:6]], attempt
            words = scenario.overwriting
        elif "there is no run" in ended.err or "no unfinished" in ended.err:
            words = scenario.command
        elif not was_disturbed:
            return [f"does not go on: exit code {ended.code}: {last_words(ended.err)}"], attempt
    else:
        return [f"is not done after {most} tries: {said[-3:]}"], most
    wrong = differences(reference.files, snapshot(place.trial))
    left = [str(p.relative_to(place.trial)) for p in files_of(place.trial) if hidden(p, place.trial)]
    wrong += [f"left behind: {name}" for name in left if name not in reference.left]
    return wrong, attempt


def last_words(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    errors = [line for line in lines if "error: " in line]
    return (errors or lines or [""])[-1][:300]


class Book:
    """What was tried and what was found, added to from sitting to sitting."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.file, self.found, self.lock = folder / "counts.json", folder / "findings.jsonl", threading.Lock()
        self.counts = collections.Counter(json.loads(self.file.read_text()) if self.file.exists() else {})

    def add(self, part, *names, number=1):
        """A number of 0 notes what could be tried."""
        with self.lock:
            self.counts[" | ".join([part, *map(str, names)])] += number

    def finding(self, part, what, **details):
        self.add("findings", part)
        with self.lock, open(self.found, "a") as file:
            file.write(json.dumps({"part": part, "what": what, **details}) + "\n")
        print(f"FOUND ({part}): {what}", flush=True)

    def save(self):
        with self.lock:
            new = self.file.with_suffix(".new")
            new.write_text(json.dumps(self.counts, indent=1, sort_keys=True))
            new.rename(self.file)
