"""What a model says of images: columns of equal length, in the order of the images."""
import os
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas
    import pyarrow


class Part(NamedTuple):
    """What the extension said of some of the images."""
    found: dict[str, Any]
    rows: list[int]         #: of these images in the whole list
    names: list[str]        #: as the extension calls them


class Predictions:
    """Columns: path, label, confidence, is_new, is_outlier (None where the model has no threshold), typicality, outlier_score, stability.

    An image that could not be read has the label None, NaN for numbers and its reason in `unread` (position -> reason).
    `probabilities` is [n, K] where it was asked for, in the order of `classes`.
    """

    path: NDArray[np.object_]
    label: NDArray[np.object_]
    is_new: NDArray[np.bool_]
    is_outlier: NDArray[Any]
    confidence: NDArray[np.float64]
    typicality: NDArray[np.float64]
    outlier_score: NDArray[np.float64]
    stability: NDArray[np.float64]
    classes: list[str]
    probabilities: Optional[NDArray[np.float32]]
    unread: dict[int, str]

    _NUMBERS = ("confidence", "typicality", "outlier_score", "stability")

    def __init__(self, columns: dict[str, NDArray[Any]], classes: list[str], probabilities: Optional[NDArray[np.float32]] = None,
                 unread: Optional[dict[int, str]] = None) -> None:
        self.__dict__.update(columns)
        self.classes, self.probabilities, self.unread = list(classes), probabilities, unread or {}

    @classmethod
    def _of(cls, parts: "list[Part]", names: list[str], classes: list[str]) -> "Predictions":
        """Of what the extension found in parts of the list of images; `names` are those of the whole list."""
        count = len(names)
        columns: dict[str, NDArray[Any]] = {"path": np.array(names, object), "label": np.full(count, None, object), "is_new": np.zeros(count, bool),
                                            "is_outlier": np.full(count, None, object)}
        columns |= {name: np.full(count, np.nan) for name in cls._NUMBERS}
        probabilities = None
        unread: dict[int, str] = {}
        for part in parts:
            found, rows = part.found, np.asarray(part.rows, np.int64)[part.found["position"]]
            columns["label"][rows] = found["label"]
            columns["is_new"][rows] = found["is_new"] == 1
            columns["is_outlier"][rows] = [None if flag < 0 else bool(flag) for flag in found["is_outlier"]]
            for name in cls._NUMBERS:
                columns[name][rows] = found[name]
            if "probabilities" in found:
                if probabilities is None:
                    probabilities = np.full((count, len(classes)), np.nan, np.float32)
                probabilities[rows] = found["probabilities"]
            read, reasons = set(rows.tolist()), dict(found["unread"])  # in no order
            unread |= {row: reasons.get(name, "cannot be read") for row, name in zip(part.rows, part.names) if row not in read}
        if all(flag is not None for flag in columns["is_outlier"]):
            columns["is_outlier"] = columns["is_outlier"].astype(bool)
        return cls(columns, classes, probabilities, dict(sorted(unread.items())))

    @classmethod
    def read(cls, file: "str | os.PathLike[str]", classes: list[str]) -> "Predictions":
        """The table of a run, predictions.csv."""
        import csv
        import re
        with open(file, newline="", encoding="utf-8", errors="surrogateescape") as table:
            rows = list(csv.DictReader(table))

        def text(row: dict[str, str], name: str) -> str:  # without what keeps a spreadsheet from running it
            return re.sub(r"^'(?='*[=+\-@\t\r])", "", row[name])

        def numbers(name: str) -> NDArray[np.float64]:
            return np.array([float(row[name]) if row.get(name) else np.nan for row in rows])

        columns: dict[str, NDArray[Any]] = {"path": np.array([text(row, "path") for row in rows], object), "label": np.array([text(row, "class") for row in rows], object),
                   "is_new": np.array([row["is_new"] == "1" for row in rows], bool)}
        flags = [row.get("is_outlier", "") for row in rows]
        columns["is_outlier"] = np.array([flag == "1" if flag else None for flag in flags], bool if all(flags) else object)
        columns |= {name: numbers(name) for name in cls._NUMBERS}
        return cls(columns, classes)

    def __len__(self) -> int:
        return len(self.label)

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """The columns by name; p_CLASS too where probabilities were asked for."""
        columns = {name: getattr(self, name) for name in ("path", "label", "is_new", "confidence", "is_outlier", "typicality", "outlier_score", "stability")}
        if self.probabilities is not None:
            columns |= {f"p_{name}": self.probabilities[:, i] for i, name in enumerate(self.classes)}
        return columns

    def to_pandas(self) -> "pandas.DataFrame":
        """A DataFrame, an image a row."""
        import pandas
        return pandas.DataFrame(self.to_dict())

    def to_arrow(self) -> "pyarrow.Table":
        """A pyarrow.Table; what is not known is null."""
        import pyarrow
        columns = {name: column.tolist() if column.dtype == object else column for name, column in self.to_dict().items()}
        return pyarrow.table({name: pyarrow.array(column, from_pandas=True) for name, column in columns.items()})

    def to_parquet(self, file: "str | os.PathLike[str]") -> None:
        """Writes the table of to_arrow."""
        import pyarrow.parquet
        pyarrow.parquet.write_table(self.to_arrow(), file)

    def __repr__(self) -> str:
        new = int(np.sum(self.is_new))
        return f"<protogcd.Predictions of {len(self)} images, {new} of them in new classes>"

    def _repr_html_(self) -> str:
        import html
        rows = "".join(
            f"<tr><td>{html.escape(str(self.path[i]))}</td><td>{html.escape(str(self.label[i]))}</td><td>{self.confidence[i]:.2f}</td>"
            f"<td>{'new' if self.is_new[i] else ''}</td></tr>" for i in range(min(len(self), 10)))
        more = f"<p>… {len(self) - 10} more rows</p>" if len(self) > 10 else ""
        return f"<table><tr><th>image</th><th>class</th><th>confidence</th><th></th></tr>{rows}</table>{more}"
