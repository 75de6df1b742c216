"""The notebooks run from a fresh folder, with settings that take seconds; they are kept without outputs."""
import os
import pathlib

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")

ROOT = pathlib.Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
QUICK = '{"epochs": 2, "bank_views": 2, "beginnings": 1, "look_at_data": False}'
INSTEAD = {"own_photos": f"PER_CLASS = 8; SETTINGS = {QUICK} | dict(k=16)",
           "reproduce_a_table_row": f"PER_CLASS = 8; STANDIN_EPOCHS = 2; REPOSITORY = {str(ROOT)!r}",
           "compare_two_methods": f"PER_CLASS = 8; SETTINGS = {QUICK}"}


def read(path):
    return nbformat.read(path, as_version=4)


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == sorted(INSTEAD)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_small_and_has_no_outputs(path):
    book = read(path)
    nbformat.validate(book)
    assert path.stat().st_size < 20_000
    assert all(not cell.outputs and cell.execution_count is None for cell in book.cells if cell.cell_type == "code")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    pytest.importorskip("pandas", reason="pandas is not installed")
    # A kernel begins in another folder than the tests.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(os.path.abspath(one) for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one))
    book = read(path)
    at = next(i for i, cell in enumerate(book.cells) if "parameters" in cell.metadata.get("tags", []))
    book.cells.insert(at + 1, nbformat.v4.new_code_cell(INSTEAD[path.stem]))
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("text/html" in output.get("data", {}) for output in shown)
    if path.stem == "own_photos":
        assert any("data:image/jpeg" in output.get("data", {}).get("text/html", "") for output in shown), "a run shows no pictures"
    if path.stem == "reproduce_a_table_row":
        text = "".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in shown)
        assert "63.2" in text and "stand-in" in text
