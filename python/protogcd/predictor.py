"""Prediction batch by batch, for Ray Data and others that start workers of their own."""
from .model import Model


class Predictor:
    """A callable class for `ray.data.Dataset.map_batches`: each worker loads the model once.

    dataset.map_batches(protogcd.Predictor, fn_constructor_args=("run",), concurrency=2, batch_size=64)

    A batch is a dict of columns; `column` holds images (arrays, bytes) or paths. It comes back with label, confidence, is_new, is_outlier.
    """

    def __init__(self, run, *, column=None, **options):
        self._model, self._column = Model(run, **options), column

    def __call__(self, batch):
        column = self._column or next((name for name in ("image", "bytes", "path") if name in batch), None)
        if column is None or column not in batch:
            from .errors import DataError
            raise DataError(f"column: no images among the batch's columns {', '.join(batch)}")
        found = self._model.predict(list(batch[column]), progress=False)
        return dict(batch) | {"label": found.label.astype(str), "confidence": found.confidence, "is_new": found.is_new,
                              "is_outlier": found.is_outlier.astype(bool)}
