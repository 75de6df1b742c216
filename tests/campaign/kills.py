"""SIGKILL at any moment and at every change of the disk: what was begun goes on to the same bytes, or was finished."""
import random
import signal
import time

from trials import go_on
from workplace import broken_files, kill_group


def kill_once(place, reference, book, draw):
    scenario = reference.scenario
    place.fresh_trial(reference.prepared)
    kills = []

    def disturb(words):
        # Each try is killed with a chance that falls, so that the command is done in the end.
        if draw.random() > 0.85 ** (1 + 2 * len(kills)):
            return place.run(words)
        if draw.random() < 0.6 and reference.counts["change"]:
            change = draw.randint(1, reference.counts["change"])
            ended = place.run(words, fault=f"change:{change}:kill")
            if ended.fired:
                book.add("kills at a change", scenario.name, f"{change:04d}")
            kills.extend(ended.fired[:1])
        else:
            moment = draw.uniform(0, reference.seconds)
            ended = place.run(words, at=[(moment, kill_group)])
            if ended.code == -signal.SIGKILL:
                kills.append(f"after {moment:.3f} s")
        if ended.code == -signal.SIGKILL:
            book.add("kills", scenario.name)
        return ended

    wrong, _ = go_on(place, reference, disturb, most=30)
    if wrong:
        book.finding("kills", f"{scenario.name}: {'; '.join(wrong)}", kills=kills)
    return len(kills)


def part(place, references, book, until, seed):
    draw = random.Random(seed)
    while time.monotonic() < until:
        kill_once(place, references.of(draw.choice(references.names)), book, draw)
