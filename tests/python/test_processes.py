"""`torchrun -m protogcd train`: several processes that Python starts."""
import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("torch.distributed.run", reason="torchrun needs all of torch's Python package")

WORDS = ["--k", "16", "--image-size", "32", "--epochs", "1", "--batch-size", "8", "--dtype", "float64", "--device", "cpu", "--report=false"]


def losses(run):
    return [json.loads(line)["train"] for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_two_processes_of_the_module_train_to_the_numbers_of_one(demo, tmp_path):
    command = ["train", "--labelled", str(demo / "labelled"), "--unlabelled", str(demo / "unlabelled"), *WORDS]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "protogcd"]
    done = subprocess.run([*torchrun, *command, "--out", str(tmp_path / "two")], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert "process 1 of 2" in done.stderr and "process 2 of 2" in done.stderr
    subprocess.run([sys.executable, "-m", "protogcd", *command, "--threads", "1", "--out", str(tmp_path / "one")], check=True, capture_output=True)
    for one, two in zip(losses(tmp_path / "one"), losses(tmp_path / "two"), strict=True):
        assert two == pytest.approx(one, abs=1e-9)
