"""Prediction batch by batch, for Ray Data and others that start workers of their own."""
from typing import Any, Optional

import numpy as np

from .errors import DataError
from .model import Model, Path


class Predictor:
    """A callable class for `ray.data.Dataset.map_batches`: each worker loads the model once.

        dataset.map_batches(protogcd.Predictor, fn_constructor_args=("run",), concurrency=2, batch_size=64)

    A batch is a dict of columns; `column` holds images (arrays, bytes) or paths. It comes back with label (empty: could not be read),
    confidence, is_new, is_outlier.
    """

    def __init__(self, run: Path, *, column: Optional[str] = None, **options: Any) -> None:
        self._model, self._column = Model(run, **options), column

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        column = self._column or next((name for name in ("image", "bytes", "path") if name in batch), None)
        if column is None or column not in batch:
            raise DataError(f"column: no images among the batch's columns {', '.join(batch)}")
        found = self._model.predict(list(batch[column]), progress=False)
        label = np.array(["" if one is None else one for one in found.label])
        return dict(batch) | {"label": label, "confidence": found.confidence, "is_new": found.is_new, "is_outlier": found.is_outlier.astype(bool)}
