"""Runs the code of docs/python.md, from top to bottom in one namespace, on a demo of eight images a class and two epochs."""
import functools
import importlib
import os
import pathlib
import re
import shutil

import pytest

import protogcd

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"
QUICK = dict(epochs=2, bank_views=2, beginnings=1, look_at_data=False)


def blocks():
    """(first line, code, packages it needs or None if it cannot run)."""
    text = PAGE.read_text()
    for found in re.finditer(r"(?:<!-- (needs|not run): (.*?) -->\n)?```python\n(.*?)```", text, re.DOTALL):
        line = text[:found.start(3)].count("\n")
        needs = None if found[1] == "not run" else found[2].split(", ") if found[1] else []
        yield pytest.param(line, found[3], needs, id=f"line-{line + 1}")


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    before, discover, make_demo = os.getcwd(), protogcd.discover, protogcd.make_demo
    folder = tmp_path_factory.mktemp("docs")
    os.chdir(folder)
    protogcd.make_demo("photos", per_class=8)
    shutil.move("photos/labelled", "photos/sorted")
    shutil.move("photos/unlabelled", "photos/rest")
    protogcd.discover = lambda *args, **settings: discover(*args, **QUICK | settings)
    protogcd.make_demo = functools.partial(make_demo, per_class=8)
    yield {"__name__": "docs"}
    protogcd.discover, protogcd.make_demo = discover, make_demo
    os.chdir(before)


@pytest.mark.parametrize("line, code, needs", list(blocks()))
def test_code_of_the_page_runs(line, code, needs, workplace):
    compiled = compile("\n" * line + code, str(PAGE), "exec")
    if needs is None:
        pytest.skip(f"{PAGE.name}:{line + 1} is not to be run")
    for package in needs:
        try:
            importlib.import_module(package)
        except Exception as error:
            pytest.skip(f"{package} cannot be imported: {error}")
    exec(compiled, workplace)


def test_public_names_are_told():
    """Every public name is told somewhere on the page."""
    text = PAGE.read_text()
    missing = [name for name in protogcd.__all__ if not re.search(rf"\b{name}\b", text)]
    assert set(missing) <= {"Clustering", "ClassNumber", "Predictions", "Run", "methods"}, missing
