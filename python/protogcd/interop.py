"""Predictions and features in other people's viewers: FiftyOne and Spotlight.

    p = run.predictions
    dataset = interop.to_fiftyone(p, embeddings=run.model.embed(p.path))         # then fiftyone.launch_app(dataset)
    frame, dtype = interop.to_spotlight(p, embeddings=run.model.embed(p.path))   # then spotlight.show(frame, dtype=dtype)
"""
import math
from typing import TYPE_CHECKING, Any, Optional

import numpy as np
from numpy.typing import NDArray

from .errors import DataError
from .predictions import Predictions

if TYPE_CHECKING:
    import pandas

_NUMBERS = ("typicality", "outlier_score", "stability")


def fiftyone_fields(predictions: Predictions, *, embeddings: Optional[NDArray[Any]] = None, field: str = "protogcd") -> list[dict[str, Any]]:
    """Fields of a FiftyOne sample for each image: a Classification, numbers and flags, and the features. What is not known is left out."""
    import fiftyone
    _check(predictions, embeddings)
    rows = []
    for i in range(len(predictions)):
        row: dict[str, Any] = {}
        if predictions.label[i] is not None:
            row[field] = fiftyone.Classification(label=predictions.label[i], confidence=float(predictions.confidence[i]))
            row[f"{field}_is_new"] = bool(predictions.is_new[i])
        if predictions.is_outlier[i] is not None:
            row[f"{field}_is_outlier"] = bool(predictions.is_outlier[i])
        row |= {f"{field}_{name}": float(getattr(predictions, name)[i]) for name in _NUMBERS if not math.isnan(getattr(predictions, name)[i])}
        if embeddings is not None and not np.isnan(embeddings[i]).any():
            row[f"{field}_embedding"] = np.asarray(embeddings[i])
        rows.append(row)
    return rows


def to_fiftyone(predictions: Predictions, dataset: Any = None, *, embeddings: Optional[NDArray[Any]] = None, field: str = "protogcd") -> Any:
    """A FiftyOne dataset with predictions and features as fields: a new one, or `dataset`, whose samples are found by their file path.

    The Classification is in `field`; beside it field_is_new, field_is_outlier, field_typicality, field_outlier_score, field_embedding.
    """
    import fiftyone
    rows = fiftyone_fields(predictions, embeddings=embeddings, field=field)
    if dataset is None:
        dataset = fiftyone.Dataset()
        dataset.add_samples([fiftyone.Sample(filepath=str(path), **row) for path, row in zip(predictions.path, rows)])
        return dataset
    of_path = dict(zip(predictions.path, rows))
    for sample in dataset.iter_samples(autosave=True):
        for name, value in of_path.get(sample.filepath, {}).items():
            sample[name] = value
    return dataset


def to_spotlight(predictions: Predictions, *, embeddings: Optional[NDArray[Any]] = None) -> "tuple[pandas.DataFrame, dict[str, str]]":
    """A DataFrame and the types of its columns, for `spotlight.show(frame, dtype=dtype)`: pictures by `path`, features as `embedding`."""
    _check(predictions, embeddings)
    frame, dtype = predictions.to_pandas(), {"path": "Image", "label": "Category"}
    frame = frame.drop(columns=[name for name in frame.columns if frame[name].isna().all()])
    if embeddings is not None:
        frame["embedding"] = list(np.asarray(embeddings))
        dtype["embedding"] = "Embedding"
    return frame, dtype


def _check(predictions: Predictions, embeddings: Optional[NDArray[Any]]) -> None:
    if embeddings is not None and len(embeddings) != len(predictions):
        raise DataError(f"embeddings: {len(embeddings)} rows for {len(predictions)} images")
