"""Every command of the campaign, once, in circumstances that should change nothing."""
import re
import subprocess

from campaign import methods_of
from scenarios import RUN, Scenario, all_scenarios
from trials import last_words
from workplace import DATA


def further_scenarios():
    """What writes nothing, or cannot be resumed, and is therefore not among those that are killed."""
    of_a_run = ["--model", "{material}/run", "--threads", 1]
    yield Scenario("evaluate", ["evaluate", *of_a_run, *DATA])
    yield Scenario("estimate-k --compare", ["estimate-k", *DATA, "--backbone", "{material}/tiny.safetensors", "--heads", 1, "--image-size", 32,
                                            "--dtype", "float32", "--epochs", 1, "--cluster-steps", 6, "--k-max", 20, "--compare"])
    yield Scenario("compare", ["compare", "{material}/run", "{material}/run", "--out", "{trial}/compared.html"])
    yield Scenario("a run of a bank", ["discover", "--out", RUN, "--resume"],
                   prepare=[["train", *DATA, "--backbone", "{material}/tiny.safetensors", "--heads", 1, "--image-size", 32, "--k", 16,
                             "--epochs", 1, "--batch-size", 16, "--views", "bank", "--bank-home", "file", "--report=false", "--out", RUN]])
    yield Scenario("methods", ["methods"])
    yield Scenario("info", ["info"])
    yield Scenario("completion", ["completion", "bash"])
    yield Scenario("datasets list", ["datasets", "list"])
    yield Scenario("datasets info", ["datasets", "info", *DATA])
    yield Scenario("datasets verify", ["datasets", "verify", *DATA])
    yield Scenario("datasets split", ["datasets", "split", *DATA, "--csv", "{trial}/split.csv"])
    yield Scenario("datasets make-shapes", ["datasets", "make-shapes", "--out", "{trial}/shapes", "--classes", 2, "--per-class", 3, "--size", 32])
    yield Scenario("weights list", ["weights", "list"])
    yield Scenario("weights inspect", ["weights", "inspect", "{material}/tiny.safetensors"])
    yield Scenario("bench cluster", ["bench", "cluster", "--rows", 200, "--width", 8, "--k", 4, "--runs", 1])
    yield Scenario("an image that is none", ["predict", *of_a_run, "--images", "{material}/run", "--max-bad", 100])


# Not tried: a network is what the first is for and what the second measures; the third needs a published checkpoint; what the others
# measure is what the verbs beside them do.
LEFT_OUT = {"weights get", "bench processes", "weights import", "bench backbone", "bench embed", "bench images", "bench train", "bench tsne"}


def verbs_without(program, scenarios):
    """The program's verbs that no scenario calls."""
    said = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    verbs = re.findall(r"^  ([a-z-]+(?: [a-z-]+)?)  ", said, re.MULTILINE)
    called = [" ".join(map(str, words[:2])) + " " for s in scenarios for words in [*s.prepare, s.command]]
    return [verb for verb in verbs if verb not in LEFT_OUT and not any(words.startswith(verb + " ") for words in called)]


def failures(place, only, report_of):
    """How many commands end otherwise than they should, or leave a report: `report_of(ended)` is its first line, or None."""
    scenarios = [*all_scenarios(methods_of(place.program)), *further_scenarios()]
    untried = verbs_without(place.program, scenarios)
    for verb in untried:
        print(f"no command here calls {verb}")
    failed = len(untried)
    for scenario in [s for s in scenarios if only in s.name]:
        place.fresh_trial()
        undisturbed = [scenario.killed[0]] if scenario.killed else []
        for words in [*scenario.prepare, *undisturbed, scenario.command]:
            ended = place.run(words, timeout=1800)
            report = report_of(ended)
            if report or ended.code != (4 if scenario.name == "an image that is none" else 0):
                failed += 1
                (place.scratch / "report").write_text(ended.err)
                print(f"{scenario.name}: exit code {ended.code}: {report or last_words(ended.err)}\n{ended.err[-3000:]}", flush=True)
                break
        else:
            print(f"{scenario.name}: {ended.seconds:.1f} s, exit code {ended.code}", flush=True)
    return failed
