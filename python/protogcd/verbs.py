"""The program's verbs as functions. Keywords are the program's options by their keys (`k_max=` is --k-max); help: options("discover")."""
import csv
import difflib
import os
import pathlib
import re
import shutil
from collections.abc import Iterable, Sequence
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core, _host, _images
from ._host import Progress
from .arrays import ClassNumber, class_number_of, count_classes, is_missing
from .errors import DataError, Interrupted, UsageError
from .model import Model, Path
from .run import Run, temporary_folder

#: A run, a model, or the folder of one.
Trained = Union[Run, Model, Path]


def options(verb: str) -> list[dict[str, str]]:
    """The options of a verb: a list of dicts with key, help, expected, default, group. They are the keywords of its function.

    >>> [one["default"] for one in options("discover") if one["key"] == "epochs"]
    ['200']
    """
    return _core.options_of(_known(verb))


def verbs() -> dict[str, str]:
    """What the program can do: name and a line about it. `call` calls any of them."""
    return dict(_core.verbs())


def call(verb: str, *, progress: Progress = None, **settings: Any) -> Any:
    """Any verb of the program, also one without a function here, with its options by key; its `--json` answer as Python values.

        protogcd.call("weights get", name="dino-vits16")
        protogcd.call("sort", from_="run", out="by-class")     # from is a word of Python's: an underscore after it is not part of the key
    """
    return _host.call(_known(verb), _folders(settings), progress)


def discover(labelled: Optional[Path] = None, unlabelled: Optional[Path] = None, *, manifest: Any = None, images: Any = None, y: Any = None,
             out: Optional[Path] = None, progress: Progress = None, **settings: Any) -> Run:
    """Finds the classes hiding among half-labelled images, and returns a Run.

    Folders: labelled= (a folder a class) and unlabelled=; a table: manifest= (a CSV or DataFrame with path, label, and perhaps truth);
    or images= (paths, arrays, PIL images, a dataset) with y= (labels; -1 or None: unlabelled). All other keywords are options of
    `protogcd discover`: k=, epochs=, backbone=, seed=, ... Without out= the run lives in a temporary folder that goes with the object.
    """
    return _run("discover", labelled, unlabelled, manifest, images, y, out, progress, settings)


def train(labelled: Optional[Path] = None, unlabelled: Optional[Path] = None, *, manifest: Any = None, images: Any = None, y: Any = None,
          out: Optional[Path] = None, progress: Progress = None, **settings: Any) -> Run:
    """As `protogcd train`: the published settings, on a benchmark (dataset=, root=) or on data as `discover` takes it."""
    return _run("train", labelled, unlabelled, manifest, images, y, out, progress, settings)


def estimate_k(X: Optional[ArrayLike] = None, y: Any = None, *, labelled: Optional[Path] = None, unlabelled: Optional[Path] = None,
               manifest: Any = None, images: Any = None, progress: Progress = None, **settings: Any) -> ClassNumber:
    """How many classes there are, as a ClassNumber. Of features: estimate_k(X, y); of images: as `discover` takes them.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> centres = np.repeat(rng.normal(size=(6, 16)), 40, axis=0)
    >>> y = np.where(np.arange(240) % 2, -1, np.arange(240) // 40); y[120:] = -1
    >>> found = estimate_k(centres + 0.1 * rng.normal(size=centres.shape), y)
    >>> found.k, found.k_old
    (6, 3)
    """
    if X is not None:
        allowed = {key: settings.pop(key) for key in ("k_max", "threads") if key in settings}
        if settings or labelled or unlabelled or manifest is not None or images is not None:
            raise UsageError("estimate_k: of features X there are only y=, k_max= and threads=")
        if y is None:
            raise UsageError("y= is needed: labels, with -1 for rows that have none")
        return count_classes(X, y, **allowed)
    with temporary_folder() as folder:
        data = _data(labelled, unlabelled, manifest, images, y, pathlib.Path(folder))
        return class_number_of(_host.call("estimate-k", data | settings, progress))


def evaluate(model: Trained, *, progress: Progress = None, **settings: Any) -> dict[str, Any]:
    """Accuracy of a run's model where the truth is known, as a dict (percent, as the program prints it)."""
    return _answer("evaluate", {"model": _folder(model)} | settings, progress)


def ood(model: Trained, *, progress: Progress = None, **settings: Any) -> dict[str, Any]:
    """How well a run's model tells outliers from known images: id=, outliers=, score=."""
    return _answer("ood", {"model": _folder(model)} | settings, progress)


def retrieve(model: Trained, *, progress: Progress = None, **settings: Any) -> dict[str, Any]:
    """The most and the least typical of images= for every class."""
    return _answer("retrieve", {"model": _folder(model)} | settings, progress)


def cluster(*, progress: Progress = None, **settings: Any) -> dict[str, Any]:
    """Groups of images by k-means on frozen or trained (model=) features."""
    return _answer("cluster", _folders(settings), progress)


def corrupt(*, progress: Progress = None, **settings: Any) -> dict[str, Any]:
    """Corrupted copies of images=, below out=: corruptions=, severities=."""
    return _answer("corrupt", settings, progress)


def embed(images: Path, out: Path, *, progress: Progress = None, **settings: Any) -> NDArray[Any]:
    """Features of a backbone (backbone=) or of a run (model=) of a folder of images, into the .npy file `out`, as a numpy array."""
    _host.call("embed", _folders({"images": images, "out": out} | settings), progress)
    features: NDArray[Any] = np.load(out)
    return features


def report(run: Trained, *, progress: Progress = None, **settings: Any) -> dict[str, Any]:
    """Writes a run's page (out=), or its data for TensorBoard's projector, Spotlight and FiftyOne (export=, a folder)."""
    return _answer("report", {"run": _folder(run)} | settings, progress)


def compare(run1: Trained, run2: Trained, *, progress: Progress = None, **settings: Any) -> dict[str, Any]:
    """On which images two runs agree, class by class, and on which they differ; out= takes the images as CSV."""
    return _answer("compare", {"run1": _folder(run1), "run2": _folder(run2)} | settings, progress)


def sweep(file: Path, *, progress: Progress = None, **settings: Any) -> dict[str, Any]:
    """Runs every cell of a sweep file that is not finished, into out=, and makes its table."""
    return _answer("sweep", {"file": file} | settings, progress)


def make_demo(out: Path, *, progress: Progress = None, **settings: Any) -> dict[str, Any]:
    """Draws the built-in half-labelled collection: labelled/, unlabelled/, outliers/, truth.csv."""
    return _answer("datasets make-demo", {"out": out} | settings, progress)


def export_model(model: Trained, out: Path, *, progress: Progress = None, **settings: Any) -> pathlib.Path:
    """The trained network in a file: a name that ends in .onnx makes ONNX with the classes, .safetensors a backbone for backbone=."""
    _host.call("weights export", {"model": _folder(model), "out": out} | settings, progress)
    return pathlib.Path(out)


def methods() -> list[dict[str, str]]:
    """Methods that `discover` and `train` have: a list of dicts.

    >>> "protogcd" in [one["name"] for one in methods()]
    True
    """
    found: list[dict[str, str]] = _host.call("methods", {})["methods"]
    return found


def _known(verb: str) -> str:
    names = verbs()
    if verb not in names:
        near = difflib.get_close_matches(verb, names, 1)
        raise UsageError(f"there is no verb '{verb}'", f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(names)}")
    return verb


def _answer(verb: str, settings: dict[str, Any], progress: Progress) -> dict[str, Any]:
    found: dict[str, Any] = _host.call(verb, settings, progress)
    return found


def _folder(model: Trained) -> Path:
    return model.folder if isinstance(model, (Run, Model)) else model


def _folders(settings: dict[str, Any]) -> dict[str, Any]:
    return {key: value.folder if isinstance(value, (Run, Model)) else value for key, value in settings.items()}


def _run(verb: str, labelled: Optional[Path], unlabelled: Optional[Path], manifest: Any, images: Any, y: Any, out: Optional[Path],
         progress: Progress, settings: dict[str, Any]) -> Run:
    if settings.get("runs") not in (None, 1):
        raise UsageError("runs=: a call is one run; call it for each seed=")
    resumes = bool(settings.get("resume"))
    kept = None
    if out is None:
        if resumes:
            raise UsageError("resume= needs out=, the folder of the run")
        kept = temporary_folder()
        out = pathlib.Path(kept.name) / "run"
    out = pathlib.Path(os.path.abspath(out))
    beside = out.with_name(out.name + ".data")  # a run reads its images again when it goes on
    _host.begin()
    _core.check(verb, _host.values_of({"out": out} | settings))  # before anything is written
    writes = images is not None or manifest is not None and not isinstance(manifest, (str, os.PathLike))
    if writes and not resumes:
        if out.is_dir() and any(out.iterdir()) and not settings.get("overwrite"):
            raise UsageError(f"out=: '{out}' is not empty", "overwrite=True replaces the run, resume=True goes on with it")
        shutil.rmtree(beside, ignore_errors=True)
    if writes and resumes and (beside / "manifest.csv").is_file():
        data: dict[str, Any] = {"manifest": beside / "manifest.csv"}
    else:
        may_be_absent = resumes or any(settings.get(key) is not None for key in ("dataset", "config"))
        data = _data(labelled, unlabelled, manifest, images, y, beside, may_be_absent)
    try:
        _host.call(verb, data | {"out": out} | settings, progress)
    except Interrupted as stop:
        if kept is None:
            raise
        raise Interrupted("stopped; without out= nothing is kept", "with out=, the same call and resume=True goes on") from stop
    return Run(out, temporary=kept)


def _data(labelled: Optional[Path], unlabelled: Optional[Path], manifest: Any, images: Any, y: Any, folder: pathlib.Path,
          may_be_absent: bool = True) -> dict[str, Any]:
    """The options that name the images, after whatever has to be written for them has been, below `folder`."""
    ways = sum((labelled is not None or unlabelled is not None, manifest is not None, images is not None))
    if ways > 1:
        raise UsageError("images come from labelled= and unlabelled=, or manifest=, or images= and y=: one of these")
    if images is not None:
        return {"manifest": _write_manifest(*_listed(images, y), folder)}
    if y is not None:
        raise UsageError("y= goes with images=, one label for each")
    if manifest is not None:
        if isinstance(manifest, (str, os.PathLike)):
            return {"manifest": manifest}
        return {"manifest": _write_table(manifest, folder)}
    if ways == 0 and not may_be_absent:
        raise UsageError("no images were given", "labelled= and unlabelled=, or manifest=, or images= and y=")
    return {"labelled": labelled, "unlabelled": unlabelled}


def _listed(images: Any, y: Any) -> tuple[list[_images.Readable], list[str]]:
    """Images and their labels as texts; empty: unlabelled."""
    if y is None and hasattr(images, "targets") and hasattr(images, "classes"):  # torchvision's ImageFolder: all labelled
        y = [images.classes[target] for target in images.targets]
    if y is None and hasattr(images, "features") and hasattr(images, "column_names") and "label" in images.column_names:
        names = getattr(images.features["label"], "names", None)
        y = [None if label is None or label == -1 else names[label] if names else label for label in images["label"]]
    if y is None and _images.is_dataset(images):  # of (image, label)
        pairs = [images[i] for i in range(len(images))]
        if all(isinstance(pair, tuple) and len(pair) > 1 for pair in pairs):
            images, y = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if y is None:
        raise UsageError("y= is needed: a label for each image; -1 or None where there is none")
    items = _images.image_list(images)
    if not hasattr(y, "__iter__") or isinstance(y, str):
        raise DataError(f"y: expected a label for each image, found {y!r}")
    labels = [_label(value) for value in y]
    if len(labels) != len(items):
        raise DataError(f"{len(items)} images and {len(labels)} labels in y=")
    return items, labels


def _label(value: Any) -> str:
    """A label as text: empty where there is none, whole numbers without a point (a column with gaps is one of floats)."""
    if getattr(value, "ndim", 0):
        raise DataError(f"y: expected one label an image, found {value!r}")
    if is_missing(value):
        return ""
    value = value.as_py() if hasattr(value, "as_py") else value.item() if hasattr(value, "item") else value
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _write_manifest(items: list[_images.Readable], labels: list[str], folder: pathlib.Path) -> pathlib.Path:
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for place, (item, label) in enumerate(zip(items, labels)):
        if isinstance(item, str):
            rows.append((item, label))
            continue
        path = folder / f"{place:07d}.{_ending(item) if isinstance(item, bytes) else 'png'}"
        if isinstance(item, bytes):
            path.write_bytes(item)
        else:
            _images.save_png(item, path)
        rows.append((str(path.resolve()), label))
    return _write_rows(folder / "manifest.csv", ("path", "label"), rows)


def _ending(data: bytes) -> str:
    known = {b"\xff\xd8": "jpg", b"\x89P": "png", b"RI": "webp", b"BM": "bmp", b"GI": "gif", b"II": "tif", b"MM": "tif"}
    return known.get(data[:2], "jpg")


def _write_table(table: Any, folder: pathlib.Path) -> pathlib.Path:
    """A DataFrame, an Arrow table, or a mapping of columns."""
    table = table.to_pydict() if hasattr(table, "to_pydict") else table
    columns = [name for name in ("path", "label", "split", "truth") if name in table]
    if "path" not in columns:
        raise DataError("manifest: there is no column 'path'")
    folder.mkdir(parents=True, exist_ok=True)
    lists = [list(table[name]) for name in columns]
    if len({len(column) for column in lists}) > 1:
        raise DataError("manifest: columns of different lengths: " + ", ".join(f"{name} {len(column)}" for name, column in zip(columns, lists)))
    for place, path in enumerate(lists[columns.index("path")]):
        if not isinstance(path, (str, os.PathLike)):
            raise DataError(f"manifest: row {place}: {path!r} is no path")
    rows = [[os.path.abspath(value) if name == "path" else _label(value) for name, value in zip(columns, row)] for row in zip(*lists)]
    return _write_rows(folder / "manifest.csv", columns, rows)


def _write_rows(file: pathlib.Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> pathlib.Path:
    with open(file, "w", newline="", encoding="utf-8", errors="surrogateescape") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(header)
        # As the program writes tables, which takes the apostrophe away again when it reads one.
        table.writerows([f"'{text}" if re.match(r"'*[=+\-@\t\r]", str(text)) else text for text in row] for row in rows)
    return file
