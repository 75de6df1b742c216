"""How well clusters agree with true classes, as the field reports it.

>>> from protogcd import metrics
>>> metrics.gcd_accuracy(["cat", "cat", "dog", "emu"], [0, 0, 1, 1], old=["cat"])
GcdAccuracy(all=0.75, old=1.0, new=0.5)
"""
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from .errors import DataError


class GcdAccuracy(NamedTuple):
    """Shares of right samples, 0 to 1; NaN where a group has no samples."""
    all: float
    old: float
    new: float


def _numbers(values: ArrayLike, name: str) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Class numbers 0, 1, ... in the order of the sorted values, whatever those are."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise DataError(f"{name}: expected one label a sample, found an array of shape {array.shape}")
    try:
        names, numbers = np.unique(array, return_inverse=True)
    except TypeError:
        raise DataError(f"{name}: labels that cannot be sorted together, or none where there should be one") from None
    return names, np.ascontiguousarray(numbers, dtype=np.int32)


def _matched(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], float, float]:
    classes, truths = _numbers(y_true, "y_true")
    _, predictions = _numbers(y_pred, "y_pred")
    if len(truths) != len(predictions):
        raise DataError(f"y_true has {len(truths)} samples and y_pred {len(predictions)}")
    class_of_cluster, nmi, ari = _core.match(predictions, truths)
    return classes, truths, predictions, class_of_cluster, nmi, ari


def gcd_accuracy(y_true: ArrayLike, y_pred: ArrayLike, old: Any) -> GcdAccuracy:
    """Clustering accuracy ("v2") over all samples and over those of old and of new classes: one optimal matching of clusters to classes.

    y_true: classes, of any kind that sorts (numbers or texts). y_pred: clusters, likewise; only which samples share one matters.
    old: the old classes (values of y_true), or a boolean for each sample, as the published code has it.

    >>> import numpy as np
    >>> gcd_accuracy(np.array([0, 0, 1, 1]), np.array([5, 5, 7, 5]), old=np.array([True, True, False, False]))
    GcdAccuracy(all=0.75, old=1.0, new=0.5)
    """
    classes, truths, predictions, class_of_cluster, _, _ = _matched(y_true, y_pred)
    right = np.asarray(class_of_cluster)[predictions] == truths if len(truths) else np.zeros(0, bool)
    is_old = _of_old_classes(old, classes, truths)

    def share(chosen: NDArray[np.bool_]) -> float:
        return float(right[chosen].mean()) if chosen.any() else math.nan

    return GcdAccuracy(share(np.ones(len(right), bool)), share(is_old), share(~is_old))


def _of_old_classes(old: Any, classes: NDArray[Any], truths: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether each sample is of an old class."""
    if old is None or isinstance(old, str) or not (hasattr(old, "__iter__") or hasattr(old, "__array__")):
        raise DataError(f"old: {old!r}", "expected the old classes, or a boolean for each sample")
    values = np.asarray(old) if hasattr(old, "__array__") else np.asarray(list(old))  # sets, generators, keys of a dict
    if values.ndim != 1:
        raise DataError(f"old: an array of shape {values.shape}", "expected the old classes, or a boolean for each sample")
    if values.dtype.kind == "O" and len(values) and all(isinstance(value, (bool, np.bool_)) for value in values):
        values = values.astype(bool)
    if values.dtype == bool:
        if values.shape != truths.shape:
            raise DataError(f"old: {values.size} booleans for {len(truths)} samples")
        return values
    are_old = np.isin(classes, values)
    if len(values) and len(classes) and not are_old.any() and values.dtype.kind in "US" and classes.dtype.kind not in "USO":
        raise DataError("old: texts, where the classes of y_true are numbers")
    return np.asarray(are_old[truths]) if len(truths) else np.zeros(0, bool)


def match_clusters(y_true: ArrayLike, y_pred: ArrayLike) -> dict[Any, Any]:
    """Which class each cluster stands for under the best one-to-one matching: {cluster: class}; clusters that stand for none are absent.

    >>> match_clusters(["a", "a", "b"], [1, 1, 0]) == {1: "a", 0: "b"}
    True
    """
    classes, _, _, class_of_cluster, _, _ = _matched(y_true, y_pred)
    clusters = np.unique(np.asarray(y_pred))
    return {cluster.item(): classes[number].item() for cluster, number in zip(clusters, class_of_cluster) if number >= 0}


def nmi(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Normalised mutual information (arithmetic mean, scikit-learn's default).

    >>> nmi([0, 0, 1, 1], [3, 3, 2, 2])
    1.0
    """
    return _matched(y_true, y_pred)[4]


def ari(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Adjusted Rand index.

    >>> ari([0, 0, 1, 1], [3, 3, 2, 2])
    1.0
    """
    return _matched(y_true, y_pred)[5]
