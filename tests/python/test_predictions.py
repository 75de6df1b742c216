"""Rows stay with their images, whatever cannot be read."""
import pathlib
import shutil

import numpy as np
import pytest

import protogcd
from protogcd import model as model_of_package
from protogcd.predictions import Part, Predictions


def answer(read, unread):
    """What the extension gives for a list: those that were read, by position, and the others in no order."""
    n = len(read)
    numbers = {name: np.arange(n) / 10 for name in ("confidence", "typicality", "outlier_score", "stability")}
    return numbers | {"path": [f"/{i}.png" for i in read], "label": [f"class {i}" for i in read], "position": np.array(read, np.int64),
                      "is_new": np.ones(n, np.int8), "is_outlier": np.full(n, -1, np.int8), "unread": unread}


def test_reasons_belong_to_their_images_in_whatever_order_they_come():
    names = [f"/{i}.png" for i in range(4)]
    found = Predictions._of([Part(answer([2], [("/3.png", "gone"), ("/0.png", "cut off"), ("/1.png", "no image")]), [0, 1, 2, 3], names)], names, [])
    assert found.unread == {0: "cut off", 1: "no image", 3: "gone"}
    assert found.label.tolist() == [None, None, "class 2", None] and found.path.tolist() == names
    assert np.isnan(found.confidence[[0, 1, 3]]).all() and found.confidence[2] == 0


def test_images_in_memory_are_counted_through_the_whole_list():
    names = [f"image {i}" for i in range(4)]
    parts = [Part(answer([0, 1], []), [0, 1], ["image 0", "image 1"]), Part(answer([1], [("image 0", "cut off")]), [2, 3], ["image 0", "image 1"])]
    found = Predictions._of(parts, names, [])
    assert found.path.tolist() == names and found.unread == {2: "cut off"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    demo = tmp_path_factory.mktemp("predictions") / "demo"
    protogcd.make_demo(demo, per_class=8)
    return protogcd.discover(demo / "labelled", demo / "unlabelled", k=16, epochs=2, bank_views=2, beginnings=1, look_at_data=False, report=False, progress=False)


def test_a_folder_with_a_broken_image(run, tmp_path):
    good = run.predictions.path[:2]
    for name, path in zip("bd", good):
        shutil.copy(path, tmp_path / f"{name}.png")
    for name in "ac":
        (tmp_path / f"{name}.png").write_bytes(b"no picture")
    found = run.model.predict(tmp_path)
    assert [pathlib.Path(path).name for path in found.path[:2]] == ["b.png", "d.png"]
    assert {pathlib.Path(found.path[row]).name for row in found.unread} == {"a.png", "c.png"}
    assert found.label[:2].tolist() == run.model.predict(list(good)).label.tolist() and found.label[2:].tolist() == [None, None]


def test_lists_of_mixed_kinds_and_broken_ones(run, tmp_path, monkeypatch):
    monkeypatch.setattr(model_of_package.Model, "_PART", 2)
    paths = list(run.predictions.path[:4])
    (tmp_path / "broken.png").write_bytes(b"no picture")
    data = [pathlib.Path(path).read_bytes() for path in paths]
    images = [data[0], paths[1], tmp_path / "gone.png", data[2], b"no picture", tmp_path / "broken.png", data[3]]
    found, expected = run.model.predict(images), run.model.predict(paths).label.tolist()
    assert found.label.tolist() == [expected[0], expected[1], None, expected[2], None, None, expected[3]]
    assert sorted(found.unread) == [2, 4, 5]
    assert found.path.tolist()[3:5] == ["image 3", "image 4"] and found.path[2].endswith("gone.png")
