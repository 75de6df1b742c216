"""Functions of plain arrays, against scikit-learn and independent loops."""
import itertools

import numpy as np
import pytest

import protogcd
from protogcd import metrics


def brute_force(y_true, y_pred, old):
    """The best of all one-to-one matchings of clusters to classes."""
    classes, clusters = sorted(set(y_true)), sorted(set(y_pred))
    places = list(range(max(len(classes), len(clusters))))
    best, right = -1, None
    for order in itertools.permutations(places):
        matched = {clusters[i]: classes[j] if j < len(classes) else None for i, j in zip(range(len(clusters)), order)}
        now = [matched[p] == t for p, t in zip(y_pred, y_true)]
        if sum(now) > best:
            best, right = sum(now), now
    return best / len(y_true), right


def test_accuracy_is_that_of_the_best_matching():
    rng = np.random.default_rng(0)
    for _ in range(40):
        n, classes, clusters = rng.integers(1, 30), rng.integers(1, 6), rng.integers(1, 6)
        y_true, y_pred = rng.integers(0, classes, n), rng.integers(0, clusters, n)
        found = metrics.gcd_accuracy(y_true, y_pred, old=[0, 1])
        assert found.all == pytest.approx(brute_force(y_true.tolist(), y_pred.tolist(), [0, 1])[0])
        mask = np.isin(y_true, [0, 1])
        assert np.array_equal(found, metrics.gcd_accuracy(y_true, y_pred, old=mask), equal_nan=True)
        weighted = np.nansum([found.old * mask.mean(), found.new * (~mask).mean()])
        assert weighted == pytest.approx(found.all)


def test_labels_may_be_texts_or_any_numbers():
    assert metrics.gcd_accuracy(["b", "a", "b"], [10**12, -5, 10**12], old=["a"]) == (1.0, 1.0, 1.0)
    with pytest.raises(protogcd.DataError, match="y_true has 2 samples and y_pred 1"):
        metrics.gcd_accuracy([1, 2], [1], [])
    with pytest.raises(protogcd.DataError, match="3 samples"):
        metrics.gcd_accuracy([1, 2, 3], [1, 1, 1], np.array([True]))


def test_scores_are_scikit_learns():
    sk = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(1)
    y_true, y_pred = rng.integers(0, 7, 300), rng.integers(0, 9, 300)
    assert metrics.nmi(y_true, y_pred) == pytest.approx(sk.normalized_mutual_info_score(y_true, y_pred), abs=1e-12)
    assert metrics.ari(y_true, y_pred) == pytest.approx(sk.adjusted_rand_score(y_true, y_pred), abs=1e-12)


def blobs(k=6, each=40, seed=0, noise=0.15):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(k), each)
    return (rng.normal(size=(k, 16))[truth] + noise * rng.normal(size=(k * each, 16))).astype(np.float32), truth


def test_kmeans_is_as_tight_as_scikit_learns():
    cluster = pytest.importorskip("sklearn.cluster")
    X, truth = blobs()
    found = protogcd.kmeans(X, 6)
    assert found.inertia == pytest.approx(cluster.KMeans(6, n_init=10, random_state=0).fit(X).inertia_, rel=1e-4)
    assert metrics.gcd_accuracy(truth, found.labels, []).all == 1
    assert np.array_equal(protogcd.kmeans(X, 6, threads=1).labels, protogcd.kmeans(X, 6, threads=2).labels)


def test_labelled_rows_stay_with_their_class():
    X, truth = blobs()
    y = np.where((truth < 3) & (np.arange(len(truth)) % 2 == 0), truth * 10, -1)
    found = protogcd.semi_supervised_kmeans(X, y, 6)
    assert np.array_equal(found.labels[y >= 0] * 10, y[y >= 0])
    texts = np.array([None if label < 0 else f"class {label}" for label in y], object)
    assert np.array_equal(protogcd.semi_supervised_kmeans(X, texts, 6).labels, found.labels)
    with pytest.raises(protogcd.DataError, match="no row is labelled"):
        protogcd.semi_supervised_kmeans(X, np.full(len(X), -1), 6)


def test_classes_of_features_are_counted():
    X, truth = blobs(k=12)
    y = np.where((truth < 6) & (np.arange(len(truth)) % 2 == 0), truth, -1)
    found = protogcd.estimate_k(X, y)
    assert found.low <= 12 <= found.high and found.k_old == 6 and found.sure in ("sure", "fairly sure", "unsure")
    with pytest.raises(protogcd.UsageError, match="k_max=: 3 is below"):
        protogcd.estimate_k(X, y, k_max=3)
    with pytest.raises(protogcd.UsageError, match="y= is needed"):
        protogcd.estimate_k(X)


def test_a_map_keeps_groups_together():
    X, truth = blobs()
    points = protogcd.tsne(X, seed=1)
    nearest = np.argsort(((points[:, None] - points[None]) ** 2).sum(2), axis=1)[:, 1]
    assert (truth[nearest] == truth).mean() > 0.99
    assert np.array_equal(points, protogcd.tsne(X, seed=1, threads=1))


def test_numbers_that_are_none_are_refused_by_name():
    with pytest.raises(protogcd.DataError, match="X"):
        protogcd.kmeans([[0.0, np.nan], [1.0, 2.0]], 1)
    with pytest.raises(protogcd.DataError, match="X: expected rows of features"):
        protogcd.kmeans([1.0, 2.0], 1)


def test_the_estimator_passes_scikit_learns_checks_but_the_one_that_uses_minus_one_as_a_class():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    from protogcd.sklearn import ProtoGCD
    rows = checks.check_estimator(ProtoGCD(), on_fail=None)
    failed = {row["check_name"] for row in rows if row["status"] == "failed"}
    assert failed == {"check_classifiers_classes"} and len(rows) > 50


def test_the_estimator_finds_new_classes():
    pytest.importorskip("sklearn")
    from protogcd.sklearn import ProtoGCD
    X, truth = blobs(k=12)
    y = np.where((truth < 6) & (np.arange(len(truth)) % 2 == 0), truth, -1)
    model = ProtoGCD(n_classes=12)
    labels = model.fit_predict(X, y)
    assert metrics.gcd_accuracy(truth, labels, range(6)).all > 0.99
    assert np.array_equal(model.predict(X), labels) and model.predict_proba(X).shape == (len(X), 12)
    assert abs(ProtoGCD().fit(X, y).n_classes_ - 12) <= 2


def test_old_classes_may_be_any_collection():
    y_true, y_pred = ["cat", "cat", "dog"], [0, 0, 1]
    for old in ({"cat"}, frozenset({"cat"}), {"cat": 1}.keys(), (name for name in ["cat"]), np.array([True, True, False], object)):
        assert metrics.gcd_accuracy(y_true, y_pred, old) == (1.0, 1.0, 1.0)
    for old in (None, "cat", 3, np.array(3)):
        with pytest.raises(protogcd.DataError, match="old:"):
            metrics.gcd_accuracy(y_true, y_pred, old)
    with pytest.raises(protogcd.DataError, match="texts, where the classes"):
        metrics.gcd_accuracy([0, 1], [0, 1], ["0"])


@pytest.mark.parametrize("y, classes", [(["a", -1, "b", None], ["a", "b"]), (["a", float("nan"), "", "a"], ["a"]),
                                        (np.array([np.int64(-1), 3, 2, None], object), [2, 3]), ([9, 10, None, -1], [9, 10]),
                                        ([2.0, np.nan, 1.0, -1.0], [1.0, 2.0])])
def test_labels_that_are_none_are_never_a_class(y, classes):
    from protogcd.arrays import class_numbers
    found, numbers = class_numbers(y)
    assert list(found) == classes
    assert [classes[number] if number >= 0 else None for number in numbers] == [value if value in classes else None for value in list(y)]


def test_a_wrong_keyword_of_an_array_function_is_named():
    for keyword in ({"seed": -1}, {"threads": "2"}):
        with pytest.raises(protogcd.UsageError, match=f"{next(iter(keyword))}=:"):
            protogcd.kmeans([[0.0], [1.0], [5.0]], 2, **keyword)
