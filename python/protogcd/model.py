"""A trained model, from the folder of a finished run."""
import os
from collections.abc import Callable, Iterator
from typing import Any, Optional, Protocol, Union

import numpy as np
from numpy.typing import NDArray

from . import _core, _host, _images
from .predictions import Part, Predictions

Path = Union[str, os.PathLike[str]]


class OfARun(Protocol):
    """A run, or what else knows its folder."""

    @property
    def folder(self) -> Path: ...


class Model:
    """Classes of images, how sure, and which are outliers.

        model = protogcd.Model.load("run")
        p = model.predict(["a.jpg", "b.jpg"])     # or a folder, bytes, uint8 arrays, PIL images, tensors, datasets
        p.label, p.confidence, p.is_new, p.is_outlier
    """

    #: Images in memory that are worked on at once: bytes are decoded to pixels for this many.
    _PART = 512

    def __init__(self, run: "Path | OfARun", *, backbone: Path = "", device: str = "auto", dtype: str = "auto", threads: Optional[int] = None) -> None:
        _host.begin()
        self._temporary = getattr(run, "_temporary", None)  # of a run without out=: its folder stays as long as the model
        folder: Path = run if isinstance(run, (str, os.PathLike)) else run.folder
        self._arguments = (os.path.abspath(os.fspath(folder)), os.path.abspath(os.fspath(backbone)) if backbone else "", str(device), str(dtype), threads)
        self._model = _core.Model.load(*self._arguments[:4], _host.number_of_threads(threads))

    @classmethod
    def load(cls, run: "Path | OfARun", *, backbone: Path = "", device: str = "auto", dtype: str = "auto", threads: Optional[int] = None) -> "Model":
        """run: a run, or its folder; backbone=: where the backbone's file is now, if it was moved; device=, dtype=, threads=."""
        return cls(run, backbone=backbone, device=device, dtype=dtype, threads=threads)

    def __reduce__(self) -> tuple[Callable[..., "Model"], tuple[Any, ...]]:
        return _loaded, self._arguments

    @property
    def folder(self) -> str:
        """Of the run."""
        return self._arguments[0]

    @property
    def classes(self) -> list[str]:
        """Names of all classes: the old ones, then the new."""
        return self._model.classes

    @property
    def old_classes(self) -> list[str]:
        """Those that had labels."""
        return self.classes[: self._model.old_classes]

    @property
    def new_classes(self) -> list[str]:
        """Those that were found."""
        return self.classes[self._model.old_classes:]

    def __repr__(self) -> str:
        return f"<protogcd.Model of {len(self.old_classes)} old and {len(self.new_classes)} new classes, {self.folder}>"

    def predict(self, images: Any, *, probabilities: bool = False, progress: _host.Progress = None) -> Predictions:
        """A Predictions with a row for each image, in their order; images that cannot be read have the label None (those of a folder come last)."""
        _host.begin()
        with _host.progress_of(progress) as show:
            if _images.is_folder(images):
                found = self._model.predict_folder(os.path.abspath(os.fspath(images)), bool(probabilities), _host.write_log, show, _host.is_main_thread())
                names = [*found["path"], *(name for name, _ in found["unread"])]
                found["position"] = np.arange(len(found["path"]))  # which were among all files of the folder
                return Predictions._of([Part(found, list(range(len(names))), names)], names, self.classes)
            items = _images.image_list(images)
            parts = []
            for rows, part in self._parts(items):
                found = self._model.predict(part, bool(probabilities), _host.write_log, show, _host.is_main_thread())
                parts.append(Part(found, rows, [_name(item, place) for place, item in enumerate(part)]))
        return Predictions._of(parts, [_name(item, place) for place, item in enumerate(items)], self.classes)

    def embed(self, images: Any, *, progress: _host.Progress = None) -> NDArray[np.float32]:
        """Features [n, d], unit rows; NaN where an image cannot be read."""
        _host.begin()
        if _images.is_folder(images):
            images = _core.list_images(os.path.abspath(os.fspath(images)))
        items = _images.image_list(images)
        rows: Optional[NDArray[np.float32]] = None
        with _host.progress_of(progress) as show:
            for positions, part in self._parts(items):
                read, values, unread = self._model.embed(part, _host.write_log, show, _host.is_main_thread())
                if rows is None:
                    rows = np.full((len(items), values.shape[1]), np.nan, np.float32)
                rows[np.asarray(positions)[read]] = values
                for name, reason in unread:
                    _host.logger.warning("%s: %s", name, reason)
        return rows if rows is not None else np.zeros((0, 0), np.float32)

    def _parts(self, items: list[_images.Readable]) -> Iterator[tuple[list[int], list[_images.Readable]]]:
        """Paths at once, images in memory some at a time: (positions in the list, images)."""
        paths = [i for i, item in enumerate(items) if isinstance(item, str)]
        if paths:
            yield paths, [items[i] for i in paths]
        others = [i for i, item in enumerate(items) if not isinstance(item, str)]
        for begin in range(0, len(others), self._PART):
            part = others[begin:begin + self._PART]
            yield part, [items[i] for i in part]


def _name(image: _images.Readable, place: int) -> str:
    return image if isinstance(image, str) else f"image {place}"


def _loaded(run: Path, backbone: Path, device: str, dtype: str, threads: Optional[int]) -> Model:
    return Model(run, backbone=backbone, device=device, dtype=dtype, threads=threads)
