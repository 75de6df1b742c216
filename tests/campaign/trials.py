"""What an undisturbed command leaves, how a disturbed one is gone on with, and whether the two are the same."""
import collections
import json
import shutil

from workplace import broken_files, differences, hidden, files_of, snapshot

CODES = {0, 2, 3, 4, 5, 6, 7, 8, 130}  # docs/exit-codes.md; 1 is a bug of ours


class Reference:
    """A scenario undisturbed: what it leaves, how long it takes, and how often it touches its folder."""

    def __init__(self, place, scenario):
        self.scenario = scenario
        self.prepared = None
        if scenario.prepare:
            place.fresh_trial()
            for words in scenario.prepare:
                ended = place.run(words)
                if ended.code != 0:
                    raise SystemExit(f"{scenario.name}: {ended.err}")
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
        again = snapshot(place.trial)
        self.is_repeatable = differences(self.files, again)
        self.left = [str(p.relative_to(place.trial)) for p in files_of(place.trial) if hidden(p, place.trial)]
        self.counts = collections.Counter()
        self.memory = 0
        for line in log.read_text(errors="replace").splitlines():
            call, number = line.split(" ", 2)[:2]
            self.counts[call] = max(self.counts[call], int(number))


def go_on(place, reference, disturb=None, most=8):
    """Does what the program's own words say until the command is done. `disturb`, if given, may stop each try in some way.
    Returns what is wrong, in words, and how many tries it took."""
    scenario, words, said = reference.scenario, reference.scenario.command, []
    for attempt in range(most):
        ended = disturb(words) if disturb else place.run(words)
        if ended.timed_out:
            return [f"hangs: {' '.join(map(str, words[:2]))}"], attempt
        if broken := broken_files(place.trial):
            return [f"half a file: {b}" for b in broken], attempt
        said.append(f"{ended.code} {last_words(ended.err)}")
        if ended.code == 0:
            break
        if ended.code < 0:
            continue
        if ended.code == 2 and "--resume" in ended.err and words is not scenario.resumed:
            words = scenario.resumed
        elif ended.code == 2 and "--overwrite" in ended.err:
            if not differences(reference.files, snapshot(place.trial)):
                break  # it had been finished
            words = scenario.overwriting
        elif "there is no run" in ended.err or "no unfinished" in ended.err:
            words = scenario.command
        elif disturb is None:
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
        self.file, self.found = folder / "counts.json", folder / "findings.jsonl"
        self.counts = collections.Counter(json.loads(self.file.read_text()) if self.file.exists() else {})

    def add(self, part, *names):
        self.counts[" | ".join([part, *map(str, names)])] += 1

    def finding(self, part, what, **details):
        self.add("findings", part)
        with open(self.found, "a") as file:
            file.write(json.dumps({"part": part, "what": what, **details}) + "\n")
        print(f"FOUND ({part}): {what}", flush=True)

    def save(self):
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(self.counts, indent=1, sort_keys=True))
        new.rename(self.file)
