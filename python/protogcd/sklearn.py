"""A scikit-learn estimator on feature arrays: labels of some rows in, classes of all out."""
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .arrays import count_classes, semi_supervised_kmeans


class ProtoGCD(ClassifierMixin, BaseEstimator):
    """Prototypes of old and new classes among features: what `protogcd discover --quick` does with images, nothing more is trained.

    n_classes: all classes, old and new; None: counted by neighbours (at least the labelled ones; where that says nothing, just those).
    temperature: of the posterior of cosines; starts, random_state: of the semi-supervised k-means.

    y of `fit`: labels, with -1 for rows that have none. `classes_` are the labels, then numbers of new classes that follow the largest
    (texts: new-01, ...); labels_ are those of the rows that it was fitted on.
    """

    def __init__(self, n_classes: Optional[int] = None, *, temperature: float = 0.1, starts: int = 10,
                 random_state: Union[int, np.random.RandomState, None] = 0) -> None:
        self.n_classes, self.temperature, self.starts, self.random_state = n_classes, temperature, starts, random_state

    def fit(self, X: Any, y: Any) -> "ProtoGCD":
        """Finds the classes among rows X, of which some have labels y."""
        X, y = validate_data(self, X, y, dtype=np.float32)
        check_classification_targets(y)
        unlabelled = y == -1 if y.dtype.kind in "iuf" else np.zeros(len(y), bool)
        old = np.unique(y[~unlabelled])
        if len(old) == 0:
            raise ValueError("y: no row is labelled (-1 is for rows without a label)")
        numbers = np.full(len(y), -1, np.int64)
        numbers[~unlabelled] = np.searchsorted(old, y[~unlabelled])
        k = self._number_of_classes(X, numbers, len(old))
        scaled = self._unit(X)
        if k == len(old) and not unlabelled.any():
            centres = np.stack([scaled[numbers == i].mean(0) for i in range(k)])
            rows = numbers
        else:
            found = semi_supervised_kmeans(scaled, numbers, k, starts=self.starts, seed=self._seed())
            centres = found.centroids
            rows = found.labels
        self.classes_ = np.concatenate([old, self._new_names(old, k - len(old))]) if k > len(old) else old
        self.prototypes_ = self._unit(centres)
        self.labels_: NDArray[Any] = self.classes_[rows]
        self.n_classes_ = k
        return self

    def fit_predict(self, X: Any, y: Any) -> NDArray[Any]:
        """`fit`, and the labels of these rows."""
        return self.fit(X, y).labels_

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """The posterior of every class, [n, n_classes_]."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, reset=False)
        scores = self._unit(X) @ self.prototypes_.T / self.temperature
        scores = np.exp(scores - scores.max(1, keepdims=True))
        shares: NDArray[np.float32] = scores / scores.sum(1, keepdims=True)
        return shares

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row."""
        nearest = self.predict_proba(X).argmax(1)
        labels: NDArray[Any] = self.classes_[nearest]
        return labels

    @staticmethod
    def _unit(X: Any) -> NDArray[np.float32]:
        rows = np.asarray(X, np.float32)
        unit: NDArray[np.float32] = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return unit

    def _seed(self) -> int:
        if self.random_state is None:
            return 0
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(self.random_state.randint(2**31 - 1))

    def _number_of_classes(self, X: NDArray[np.float32], numbers: NDArray[np.int64], old: int) -> int:
        if self.n_classes is not None:
            if self.n_classes < old:
                raise ValueError(f"n_classes={self.n_classes}: {old} classes are labelled already")
            return int(self.n_classes)
        if (numbers >= 0).all():
            return old
        try:
            return count_classes(X, np.where(numbers >= 0, numbers, -1)).k
        except ValueError:  # neighbours say nothing
            return old

    @staticmethod
    def _new_names(old: NDArray[Any], count: int) -> NDArray[Any]:
        if old.dtype.kind in "iu":
            return np.arange(int(old.max()) + 1, int(old.max()) + 1 + count)
        if old.dtype.kind == "f":
            return np.asarray(np.floor(old.max()) + 1 + np.arange(count))
        digits = max(2, len(str(count)))
        return np.array([f"new-{i + 1:0{digits}}" for i in range(count)])
