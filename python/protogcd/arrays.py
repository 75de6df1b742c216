"""Clustering, counting and maps of plain arrays of features."""
import json
from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core, _host
from .errors import DataError, UsageError


class Clustering(NamedTuple):
    """What k-means found."""
    labels: NDArray[np.int64]        #: [n] int64
    centroids: NDArray[np.float32]   #: [k, d] float32
    inertia: float                   #: sum of squared distances to the rows' own centroids
    iterations: int                  #: of the start that was kept


class ClassNumber(NamedTuple):
    """How many classes there are: old and new together."""
    k: int
    low: int                #: the interval is meant to hold the truth four times in five
    high: int
    sure: str               #: "sure", "fairly sure" or "unsure"
    k_old: int
    details: dict[str, Any]  #: what the program's --json has

    @property
    def k_new(self) -> int:
        return self.k - self.k_old


def _rows(values: ArrayLike, name: str = "X") -> NDArray[np.float32]:
    array = np.ascontiguousarray(values, dtype=np.float32)
    if array.ndim != 2:
        raise DataError(f"{name}: expected rows of features, found an array of shape {array.shape}")
    return array


def is_missing(value: Any) -> bool:
    """Whether a label is none: None, NaN, -1, an empty text, or what pandas and Arrow have for it."""
    if hasattr(value, "as_py"):  # of Arrow
        value = value.as_py()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (str, np.str_)):
        return value == ""
    return bool(value != value) or (not isinstance(value, (bool, np.bool_)) and bool(value == -1))


def class_numbers(y: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Labels with -1, None or NaN for unlabelled samples: the old classes, sorted, and numbers [n] with -1 where there is no label."""
    if not hasattr(y, "__iter__") or isinstance(y, str):
        raise DataError(f"y: expected one label a sample, found {y!r}")
    # Not by numpy, which would make texts of a list of texts and numbers.
    values = np.asarray(y) if hasattr(y, "__array__") else _objects(list(y))
    if values.ndim != 1:
        raise DataError(f"y: expected one label a sample, found an array of shape {values.shape}")
    known = np.array([not is_missing(value) for value in values], bool)
    labels = [value.as_py() if hasattr(value, "as_py") else value.item() if hasattr(value, "item") else value for value in values[known]]
    try:
        classes = sorted(set(labels))
    except TypeError:
        raise DataError("y: labels of kinds that cannot be sorted together", "make them all texts, or all numbers") from None
    place = {label: number for number, label in enumerate(classes)}
    numbers = np.full(len(values), -1, np.int64)
    numbers[known] = [place[label] for label in labels]
    return _objects(classes) if values.dtype.kind == "O" else np.asarray(classes, dtype=values.dtype), numbers


def _objects(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def kmeans(X: ArrayLike, k: int, *, starts: int = 10, max_iterations: int = 300, tolerance: float = 1e-4, seed: int = 0,
           threads: Optional[int] = None) -> Clustering:
    """K-means by greedy k-means++ and Lloyd's algorithm, the tightest of several starts. The same for any number of threads.

    >>> import numpy as np
    >>> X = np.repeat([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]], 5, axis=0)
    >>> found = kmeans(X, 3)
    >>> len(set(found.labels)), round(found.inertia, 3)
    (3, 0.0)
    """
    return _cluster(X, np.zeros(0, np.int64), k, starts, max_iterations, tolerance, seed, threads)


def semi_supervised_kmeans(X: ArrayLike, y: Any, k: int, *, starts: int = 10, max_iterations: int = 300, tolerance: float = 1e-4,
                           seed: int = 0, threads: Optional[int] = None) -> Clustering:
    """The semi-supervised k-means of generalized category discovery (Vaze et al., CVPR 2022).

    y: labels, with -1 (or None) for unlabelled rows. Labelled rows stay in the cluster of their class; cluster i is the i-th of the
    sorted labels, and those after them are new.

    >>> import numpy as np
    >>> X = np.repeat([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]], 5, axis=0)
    >>> y = np.full(15, -1); y[0] = 7; y[5] = 9
    >>> semi_supervised_kmeans(X, y, 3).labels.tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]
    """
    X = _rows(X)
    _, numbers = class_numbers(y)
    if len(numbers) != len(X):
        raise DataError(f"X has {len(X)} rows and y {len(numbers)}")
    if (numbers < 0).all():
        raise DataError("y: no row is labelled", "without labels there is kmeans")
    return _cluster(X, numbers, k, starts, max_iterations, tolerance, seed, threads)


def _cluster(X: ArrayLike, numbers: NDArray[np.int64], k: int, starts: int, max_iterations: int, tolerance: float, seed: int,
             threads: Optional[int]) -> Clustering:
    _host.begin()
    return Clustering(*_core.cluster(_rows(X), numbers, int(k), int(starts), int(max_iterations), float(tolerance), _host.whole_number("seed", seed),
                                     _host.number_of_threads(threads), _host.is_main_thread()))


def tsne(X: ArrayLike, *, perplexity: float = 30.0, iterations: int = 1000, seed: int = 0,
         threads: Optional[int] = None) -> NDArray[np.float32]:
    """A map of the rows in two dimensions, [n, 2]: t-SNE. The same for any number of threads.

    >>> import numpy as np
    >>> tsne(np.random.default_rng(0).normal(size=(50, 8))).shape
    (50, 2)
    """
    _host.begin()
    return np.asarray(_core.tsne(_rows(X), float(perplexity), int(iterations), _host.whole_number("seed", seed), _host.number_of_threads(threads), _host.is_main_thread()),
                      np.float32)


def count_classes(X: ArrayLike, y: Any, *, k_max: Optional[int] = None, threads: Optional[int] = None) -> ClassNumber:
    """How many classes there are among features X, of which some rows have labels y (-1: none): by nearest neighbours of labelled rows."""
    _host.begin()
    rows = _rows(X)
    _, numbers = class_numbers(y)
    if len(numbers) != len(rows):
        raise DataError(f"X has {len(rows)} rows and y {len(numbers)}")
    labelled = numbers >= 0
    k_old = int(numbers.max(initial=-1)) + 1
    most = int(k_max) if k_max is not None else max(len(rows) // 5, k_old)
    if most < k_old:
        raise UsageError(f"k_max=: {most} is below the number of labelled classes, {k_old}")
    if labelled.all():
        raise DataError("y: every row is labelled: there is nothing to count")
    found = json.loads(_core.count_classes(rows[labelled], numbers[labelled], rows[~labelled], most,
                                           _host.number_of_threads(threads), _host.is_main_thread()))
    if found is None:
        raise DataError("y: neighbours need two labelled classes, and a second labelled row in one of them")
    return class_number_of(found)


def class_number_of(found: dict[str, Any]) -> ClassNumber:
    low, high = found["interval"]
    return ClassNumber(found["k"], low, high, found["sure"], found["k"] - found["k_new"], found)
