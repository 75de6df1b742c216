"""Finds the categories hiding in a half-labelled image collection.

    run = protogcd.discover(labelled="a/", unlabelled="b/")
    run.classes, run.predictions.to_pandas(), run.report()
    model = protogcd.Model.load("run"); model.predict(["x.jpg"]).label

Arrays: metrics.gcd_accuracy, kmeans, semi_supervised_kmeans, estimate_k(X, y), tsne; protogcd.sklearn.ProtoGCD.
"""
from . import _torch

_torch_came_first = _torch.load()

from . import _core, metrics  # noqa: E402
from .arrays import ClassNumber, Clustering, kmeans, semi_supervised_kmeans, tsne  # noqa: E402
from .errors import (ConfigError, DataError, DeviceError, Error, FileError, ForkError, InternalError, Interrupted, ModelFileError,  # noqa: E402
                     TrainingError, UsageError)
from .model import Model  # noqa: E402
from .predictions import Predictions  # noqa: E402
from .predictor import Predictor  # noqa: E402
from .run import Run  # noqa: E402
from .verbs import (call, cluster, compare, corrupt, discover, embed, estimate_k, evaluate, export_model, make_demo, methods, ood, options,  # noqa: E402
                    report, retrieve, sweep, train, verbs)

if _torch_came_first:
    _core.torch_came_first()
__version__ = _core.version
__all__ = ["ClassNumber", "Clustering", "ConfigError", "DataError", "DeviceError", "Error", "FileError", "ForkError", "InternalError",
           "Interrupted", "Model", "ModelFileError", "Predictions", "Predictor", "Run", "TrainingError", "UsageError", "call", "cluster",
           "compare", "corrupt", "discover", "embed", "estimate_k", "evaluate", "export_model", "kmeans", "make_demo", "methods", "metrics", "ood",
           "options", "report", "retrieve", "semi_supervised_kmeans", "sweep", "train", "tsne", "verbs"]
