"""A finished run: its folder, what was found, its model and its page."""
import base64
import html
import io
import json
import os
import pathlib
import shutil
import tempfile
from typing import Any, Optional

from . import _host
from .arrays import ClassNumber, class_number_of
from .errors import FileError, ModelFileError
from .model import Model, Path
from .predictions import Predictions

_FORMAT = 1  # of result.json; files without one are of it


class Run:
    """run.classes, run.predictions, run.result, run.model, run.report(); shows itself in a notebook.

    A run without `out=` lives in a temporary folder that goes with the object; `save` keeps it.
    """

    def __init__(self, folder: Path, *, temporary: "Optional[tempfile.TemporaryDirectory[str]]" = None) -> None:
        self.folder: pathlib.Path = pathlib.Path(folder).resolve()
        self._temporary = temporary
        file = self.folder / "result.json"
        if not file.is_file():
            raise ModelFileError(f"{folder}: there is no result.json in it", "a run that was stopped goes on with resume=True")
        self.result: dict[str, Any] = json.loads(file.read_text(encoding="utf-8", errors="replace"))
        written = self.result.get("format", _FORMAT)
        if written != _FORMAT:
            raise ModelFileError(f"{file}: format {written} is not known: a newer protogcd wrote it, this one reads format {_FORMAT}", "use that version")
        self._model: Optional[Model] = None

    @property
    def model(self) -> Model:
        """Loaded when it is first asked for."""
        if self._model is None:
            self._model = Model(self)
        return self._model

    @property
    def k(self) -> int:
        """All classes, old and new."""
        return int(self.result["k"])

    @property
    def estimate(self) -> Optional[ClassNumber]:
        """The ClassNumber where K was not given, else None."""
        found = self.result.get("estimate")
        return class_number_of(found) if found else None

    @property
    def classes(self) -> list[dict[str, Any]]:
        """A list of dicts: name, is_new, images, confidence, and stability where it was measured."""
        found: list[dict[str, Any]] = self.result["classes"]
        return found

    @property
    def accuracy(self) -> Optional[dict[str, float]]:
        """All, Old and New in percent where the truth was given, else None."""
        if self.result.get("all") is None:
            return None
        return {name: self.result[name] for name in ("all", "old", "new")}

    @property
    def predictions(self) -> Predictions:
        """The unlabelled images."""
        return Predictions.read(self.folder / "predictions.csv", [one["name"] for one in self.classes])

    def report(self) -> pathlib.Path:
        """Path of the page; it is written anew where the run has none."""
        page = self.folder / "report.html"
        if not page.is_file():
            _host.call("report", {"run": self.folder})
        return page

    def save(self, folder: Path) -> "Run":
        """Copies the run there, and goes on living there."""
        target = pathlib.Path(folder)
        if target.exists():
            raise FileError(f"{target}: is there already", "name a folder that does not exist")
        partial = target.with_name(target.name + ".partial")
        if partial.exists():
            shutil.rmtree(partial)
        shutil.copytree(self.folder, partial)
        os.replace(partial, target)
        self.folder, self._model = target.resolve(), None
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None
        return self

    def __repr__(self) -> str:
        new = sum(one["is_new"] for one in self.classes)
        return f"<protogcd.Run of {len(self.classes) - new} old and {new} new classes, {self.folder}>"

    def _repr_html_(self) -> str:
        predictions = self.predictions
        cards = []
        for one in sorted(self.classes, key=lambda found: (not found["is_new"], -found["images"]))[:24]:
            rows = [i for i in range(len(predictions)) if predictions.label[i] == one["name"]]
            rows.sort(key=lambda i: -predictions.typicality[i])
            pictures = "".join(filter(None, (_thumbnail(self._image(predictions.path[i])) for i in rows[:4])))
            kind = "new" if one["is_new"] else "known"
            cards.append(f'<div style="display:inline-block;vertical-align:top;width:max-content;max-width:100%;margin:.4em;padding:.6em;border:1px solid #ccc;border-radius:.5em">'
                         f'<b>{html.escape(one["name"])}</b> <small>{kind}, {one["images"]} images</small><br>{pictures}</div>')
        more = f"<p>{len(self.classes) - 24} more classes</p>" if len(self.classes) > 24 else ""
        new = sum(one["is_new"] for one in self.classes)
        title = f"<b>{len(self.classes) - new} known and {new} new classes</b> among {len(predictions)} unlabelled images <small>{html.escape(str(self.folder))}</small>"
        return f"<div>{title}<br>{''.join(cards)}{more}</div>"

    def _image(self, path: str) -> str:
        return path if os.path.isabs(path) else os.path.join(self.folder, path)


def _thumbnail(path: str, side: int = 64) -> str:
    try:
        from PIL import Image, ImageOps
        with Image.open(path) as image:
            small = ImageOps.fit(image.convert("RGB"), (side, side))
    except (ImportError, OSError, ValueError):
        return ""
    data = io.BytesIO()
    small.save(data, "JPEG", quality=80)
    return f'<img width="{side}" height="{side}" alt="" src="data:image/jpeg;base64,{base64.b64encode(data.getvalue()).decode()}">'


def temporary_folder() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="protogcd-", ignore_cleanup_errors=True)
