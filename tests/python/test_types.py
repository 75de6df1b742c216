"""Type annotations: of the package, for a user, and of the compiled part."""
import pathlib
import subprocess
import sys

import pytest

import protogcd

ROOT = pathlib.Path(__file__).parents[2]
SOURCES = ROOT / "python" / "protogcd"


def mypy(*arguments, tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path), *arguments],
                          cwd=ROOT, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_package_and_a_users_script_pass_strict_mypy(tmp_path):
    code, text = mypy("--strict", "-p", "protogcd", tmp_path=tmp_path)
    assert code == 0, text
    code, text = mypy("--strict", "tests/python/typed_user.py", tmp_path=tmp_path)
    assert code == 0, text


def test_a_wrong_type_is_seen(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import protogcd\nprotogcd.Model.load(3)\nx: str = protogcd.kmeans([[0.0]], 1).inertia\n")
    code, text = mypy("--strict", str(wrong), tmp_path=tmp_path)
    assert code == 1 and "wrong.py:2" in text and "wrong.py:3" in text, text


def test_stub_of_the_compiled_part_is_current(tmp_path):
    pytest.importorskip("nanobind", reason="nanobind is not installed")
    subprocess.run([sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "protogcd._core", "-o", str(tmp_path / "_core.pyi")], check=True)
    made, kept = (tmp_path / "_core.pyi").read_text(), (SOURCES / "_core.pyi").read_text()
    assert made == kept, "python -m nanobind.stubgen -m protogcd._core -o python/protogcd/_core.pyi"


def test_every_public_name_is_there_and_says_what_it_is():
    for name in protogcd.__all__:
        assert getattr(protogcd, name).__doc__, name
