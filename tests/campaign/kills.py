"""SIGKILL at any moment and at every change of the disk: what was begun goes on to the same bytes, or was finished."""
import random
import signal
import time

from trials import go_on
from workplace import kill_group


def kill_once(place, reference, book, draw):
    scenario = reference.scenario
    place.fresh_trial(reference.prepared)
    kills = []

    def disturb(words):
        # Each try is killed with a chance that falls, so that the command is done in the end.
        if draw.random() > 0.85 ** (1 + 2 * len(kills)):
            return place.run(words), False
        if draw.random() < 0.6 and reference.counts["change"]:
            # The rarer a change has been the last one, the sooner it comes.
            change = min(range(1, reference.counts["change"] + 1),
                         key=lambda n: (book.counts[f"kills at a change | {scenario.name} | {n:04d}"], draw.random()))
            ended = place.run(words, fault=f"change:{change}:kill")
            if ended.fired and words is scenario.command and not kills:  # a later try makes other changes
                book.add("kills at a change", scenario.name, f"{change:04d}")
            kills.extend(ended.fired[:1])
        else:
            moment = draw.uniform(0, reference.seconds)
            ended = place.run(words, at=[(moment, kill_group)])
            if ended.code == -signal.SIGKILL:
                kills.append(f"after {moment:.3f} s")
        if ended.code == -signal.SIGKILL:
            book.add("kills", scenario.name)
        return ended, ended.code == -signal.SIGKILL or bool(ended.fired)  # a cell of a sweep may have been the one

    wrong, _ = go_on(place, reference, disturb, most=30)
    if wrong:
        book.finding("kills", f"{scenario.name}: {'; '.join(wrong)}", kills=kills)
    return len(kills)


def part(place, references, book, until, seed):
    draw = random.Random(seed)
    while time.monotonic() < until:
        reference = references.of(draw.choice(references.names))
        book.counts[f"changes | {reference.scenario.name}"] = reference.counts["change"]
        kill_once(place, reference, book, draw)
