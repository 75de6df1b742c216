#!/usr/bin/env python3
"""Every command of the campaign, once, where a socket of the internet's families ends the process that asks for one (`make test-offline`).

Those that are meant to have one, `weights get` and processes that work together, show first that the filter sees them.
"""
import argparse
import os
import pathlib
import shlex
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import every_command
from workplace import DATA, BACKBONE, Workplace

NOT_HERE = 77  # what no_network says where the system takes no filter


def guarded(program, folder):
    """The program behind the filter, as one file to call."""
    filter_ = folder / "no_network"
    subprocess.run(["cc", "-O1", "-o", filter_, pathlib.Path(__file__).with_name("no_network.c")], check=True)
    if subprocess.run([filter_, "true"]).returncode == NOT_HERE:
        print("skipped: this system takes no filter")
        raise SystemExit(NOT_HERE)
    wrapper = folder / "protogcd"
    wrapper.write_text(f"#!/bin/sh\nexec {shlex.quote(str(filter_))} {shlex.quote(str(program))} \"$@\"\n")
    wrapper.chmod(0o755)
    return wrapper


def check_that_sockets_are_seen(place):
    place.fresh_trial()
    got = place.run(["weights", "get", "dino-vits16", "--weights-dir", "{trial}", "--url", "http://127.0.0.1:9"])
    if got.code != 7 or "signal 31" not in got.err:
        raise SystemExit(f"weights get is not seen to ask for a socket: exit code {got.code}: {got.err}")
    together = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29517"}
    os.environ |= together
    joined = place.run(["train", *DATA, *BACKBONE, "--k", 16, "--epochs", 1, "--process-timeout", 5, "--out", "{trial}/run"])
    for name in together:
        del os.environ[name]
    if joined.code != -signal.SIGSYS:
        raise SystemExit(f"processes that work together are not seen to ask for a socket: exit code {joined.code}: {joined.err}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=pathlib.Path, default=pathlib.Path("build/release/bin/protogcd"))
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/offline"))
    parser.add_argument("--only", default="", help="scenarios whose name has this in it")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    place = Workplace(guarded(options.program.resolve(), folder), None, folder)
    check_that_sockets_are_seen(place)
    failed = every_command.failures(place, options.only, lambda ended: "asked for a socket" if ended.code == -signal.SIGSYS else None)
    print(f"{failed} commands failed" if failed else "no command asks for a socket")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
