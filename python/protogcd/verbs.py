"""The program's verbs as functions. Keywords are the program's options by their keys (`k_max=` is --k-max); help: options("discover")."""
import csv
import os
import pathlib

import numpy as np

from . import _core, _host, _images
from .arrays import class_number_of, count_classes
from .errors import DataError, UsageError
from .run import Run, temporary_folder


def options(verb):
    """The options of a verb: a list of dicts with key, help, expected, default, group."""
    return _core.options_of(verb)


def discover(labelled=None, unlabelled=None, *, manifest=None, images=None, y=None, out=None, progress=None, **settings):
    """Finds the classes hiding among half-labelled images, and returns a Run.

    Folders: labelled= (a folder a class) and unlabelled=; a table: manifest= (a CSV or DataFrame with path, label, and perhaps truth);
    or images= (paths, arrays, PIL images, a dataset) with y= (labels; -1 or None: unlabelled). All other keywords are options of
    `protogcd discover`: k=, epochs=, backbone=, seed=, ... Without out= the run lives in a temporary folder that goes with the object.
    """
    return _run("discover", labelled, unlabelled, manifest, images, y, out, progress, settings)


def train(labelled=None, unlabelled=None, *, manifest=None, images=None, y=None, out=None, progress=None, **settings):
    """As `protogcd train`: the published settings, on a benchmark (dataset=, root=) or on data as `discover` takes it."""
    return _run("train", labelled, unlabelled, manifest, images, y, out, progress, settings)


def estimate_k(X=None, y=None, *, labelled=None, unlabelled=None, manifest=None, images=None, progress=None, **settings):
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


def evaluate(model, *, progress=None, **settings):
    """Accuracy of a run's model where the truth is known, as a dict (percent, as the program prints it)."""
    return _host.call("evaluate", {"model": _folder(model)} | settings, progress)


def ood(model, *, progress=None, **settings):
    """How well a run's model tells outliers from known images: id=, outliers=, score=."""
    return _host.call("ood", {"model": _folder(model)} | settings, progress)


def retrieve(model, *, progress=None, **settings):
    return _host.call("retrieve", {"model": _folder(model)} | settings, progress)


def cluster(*, progress=None, **settings):
    """Groups of images by k-means on frozen or trained (model=) features."""
    return _host.call("cluster", _folders(settings), progress)


def corrupt(*, progress=None, **settings):
    """Corrupted copies of images."""
    return _host.call("corrupt", settings, progress)


def embed(images, out, *, progress=None, **settings):
    """Features of a backbone (backbone=) or of a run (model=) of a folder of images, into the .npy file `out`, as a numpy array."""
    _host.call("embed", _folders({"images": images, "out": out} | settings), progress)
    return np.load(out)


def report(run, *, progress=None, **settings):
    return _host.call("report", {"run": _folder(run)} | settings, progress)


def compare(first, second, *, progress=None, **settings):
    return _host.call("compare", {"first": _folder(first), "second": _folder(second)} | settings, progress)


def sweep(file, *, progress=None, **settings):
    return _host.call("sweep", {"file": file} | settings, progress)


def make_demo(out, *, progress=None, **settings):
    """Draws the built-in half-labelled collection: labelled/, unlabelled/, outliers/, truth.csv."""
    return _host.call("datasets make-demo", {"out": out} | settings, progress)


def methods():
    """Methods that `discover` and `train` have: a list of dicts."""
    return _host.call("methods", {})["methods"]


def _folder(model):
    return model.folder if hasattr(model, "folder") else model


def _folders(settings):
    return settings | ({"model": _folder(settings["model"])} if settings.get("model") is not None else {})


def _run(verb, labelled, unlabelled, manifest, images, y, out, progress, settings):
    if settings.get("runs", 1) != 1:
        raise UsageError("runs=: a call is one run; call it for each seed=")
    kept = None
    if out is None:
        if settings.get("resume"):
            raise UsageError("resume= needs out=, the folder of the run")
        kept = temporary_folder()
        out = pathlib.Path(kept.name) / "run"
    out = pathlib.Path(out)
    resumes = bool(settings.get("resume"))
    beside = out.with_name(out.name + ".data")  # a run reads its images again when it goes on
    data = _data(labelled, unlabelled, manifest, images, y, beside, may_be_absent=resumes or settings.get("dataset") is not None)
    _host.call(verb, data | {"out": out} | settings, progress)
    return Run(out, temporary=kept)


def _data(labelled, unlabelled, manifest, images, y, folder, may_be_absent=True):
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


def _listed(images, y):
    """Images and their labels as texts; empty: unlabelled."""
    if y is None and hasattr(images, "targets") and hasattr(images, "classes"):  # torchvision's ImageFolder: all labelled
        y = [images.classes[target] for target in images.targets]
    if y is None and hasattr(images, "features") and hasattr(images, "column_names") and "label" in images.column_names:
        names = getattr(images.features["label"], "names", None)
        y = [None if label is None or label == -1 else names[label] if names else label for label in images["label"]]
    items = _images.image_list(images)
    if y is None:
        raise UsageError("y= is needed: a label for each image; -1 or None where there is none")
    labels = list(np.asarray(y, dtype=object))
    if len(labels) != len(items):
        raise DataError(f"{len(items)} images and {len(labels)} labels in y=")
    missing = {None, "", -1}
    return items, ["" if label != label or label in missing else str(label) for label in labels]


def _write_manifest(items, labels, folder):
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for place, (item, label) in enumerate(zip(items, labels)):
        if isinstance(item, str):
            path = item
        else:
            path = folder / f"{place:07d}.{'png' if not isinstance(item, bytes) else _ending(item)}"
            if isinstance(item, bytes):
                path.write_bytes(item)
            else:
                _images.save_png(item, path)
            path = path.resolve()
        rows.append((path, label))
    return _write_rows(folder / "manifest.csv", ("path", "label"), rows)


def _ending(data):
    known = {b"\xff\xd8": "jpg", b"\x89P": "png", b"RI": "webp", b"BM": "bmp", b"GI": "gif", b"II": "tif", b"MM": "tif"}
    return known.get(data[:2], "jpg")


def _write_table(table, folder):
    """A DataFrame, or a mapping of columns."""
    columns = [name for name in ("path", "label", "split", "truth") if name in table]
    if "path" not in columns:
        raise DataError("manifest: there is no column 'path'")
    folder.mkdir(parents=True, exist_ok=True)
    lists = [list(table[name]) for name in columns]
    rows = [["" if value is None or value != value else os.path.abspath(value) if name == "path" else str(value)
             for name, value in zip(columns, row)] for row in zip(*lists)]
    return _write_rows(folder / "manifest.csv", columns, rows)


def _write_rows(file, header, rows):
    with open(file, "w", newline="", encoding="utf-8", errors="surrogateescape") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(header)
        table.writerows(rows)
    return file
