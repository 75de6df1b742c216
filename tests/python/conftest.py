"""What the tests share: the drawn collection, a tiny run by the module, and the program."""
import json
import pathlib
import signal
import subprocess

import pytest

import protogcd
from tiny import TINY

# A shell starts what it puts into the background with SIGINT ignored, and children inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "build/release/bin/protogcd"


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "demo"
    protogcd.make_demo(folder, per_class=12, seed=1)
    return folder


@pytest.fixture(scope="session")
def run(demo, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    return protogcd.discover(demo / "labelled", demo / "unlabelled", truth=demo / "truth.csv", out=out, **TINY)


@pytest.fixture(scope="session")
def files(demo):
    return sorted(str(file) for file in (demo / "unlabelled").rglob("*.png"))[:24]


@pytest.fixture(scope="session")
def program():
    if not PROGRAM.exists():
        pytest.skip("the program was not built beside these tests")

    def call(*words):
        done = subprocess.run([str(PROGRAM), *map(str, words)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if "--json" in words else done.stdout

    return call
