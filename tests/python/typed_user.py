"""What a user of types writes: checked by `mypy --strict` in test_types.py, and never run."""
from typing import Optional

import numpy as np
from numpy.typing import NDArray

import protogcd
from protogcd import metrics
from protogcd.sklearn import ProtoGCD


def look(folder: str) -> protogcd.Run:
    run = protogcd.discover(labelled=folder + "/sorted", unlabelled=folder + "/rest", k=16, epochs=20, progress=False)
    names: list[str] = [str(one["name"]) for one in run.classes if one["is_new"]]
    estimate: Optional[protogcd.ClassNumber] = run.estimate
    if estimate is not None:
        print(estimate.k, estimate.low, estimate.high, estimate.k_new)
    print(len(names), run.k, run.accuracy, run.report().name)
    return run.save("kept")


def classify(paths: list[str]) -> NDArray[np.float64]:
    model = protogcd.Model.load("kept", threads=1)
    found: protogcd.Predictions = model.predict(paths, probabilities=True)
    if found.probabilities is not None:
        print(found.probabilities.shape, model.old_classes, found.unread)
    features: NDArray[np.float32] = model.embed(paths)
    print(features.shape, found.to_pandas(), found.is_new.sum())
    return found.confidence


def count(X: NDArray[np.float32], y: NDArray[np.int64], truth: NDArray[np.int64]) -> float:
    k: int = protogcd.estimate_k(X, y).k
    clusters = protogcd.semi_supervised_kmeans(X, y, k, seed=1)
    points: NDArray[np.float32] = protogcd.tsne(X)
    labels = ProtoGCD(n_classes=k).fit(X, y).predict(X)
    print(points.shape, labels.shape, protogcd.kmeans(X, k).inertia)
    return metrics.gcd_accuracy(truth, clusters.labels, old=[0, 1]).new


def fail() -> str:
    try:
        protogcd.evaluate("nowhere")
    except protogcd.ModelFileError as error:
        return error.hint
    except protogcd.Error as error:
        return error.message
    return ""
