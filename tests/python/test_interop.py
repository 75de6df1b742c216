"""Other people's packages: what goes in, what comes out. A test whose package is not there, or cannot start, is skipped and says so."""
import csv
import importlib
import json
import urllib.request

import numpy as np
import pytest

import protogcd
from protogcd import interop

QUICK = dict(k=16, epochs=2, bank_views=2, beginnings=1, look_at_data=False, report=False, progress=False)


def package(name):
    try:
        return importlib.import_module(name)
    except Exception as error:  # also packages that are there but do not fit the others
        pytest.skip(f"{name} cannot be imported: {error}")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interop") / "demo"
    protogcd.make_demo(folder, per_class=8)
    return folder


@pytest.fixture(scope="module")
def run(demo):
    return protogcd.discover(demo / "labelled", demo / "unlabelled", **QUICK)


def labels_given(run):
    """How often each label was given, as the run recorded it."""
    with open(run.folder / "labels.csv", newline="") as table:
        names = [row["class"] for row in csv.DictReader(table)]
    return {name: names.count(name) for name in names}


def files(folder):
    return sorted(str(path) for path in folder.rglob("*.png"))


def half_labelled(demo):
    """Paths, and the names of their classes or None."""
    paths = files(demo / "labelled") + files(demo / "unlabelled")
    return paths, [path.split("/")[-2] if "/labelled/" in path else None for path in paths]


class Pairs:
    """What a torch Dataset of (image, label) looks like, without torch."""

    def __init__(self, paths, labels):
        self.paths, self.labels = paths, labels

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        image = package("PIL.Image")
        return image.open(self.paths[i]), self.labels[i]


def same_as_files(model, found, paths):
    assert found.label.tolist() == model.predict(paths, progress=False).label.tolist()


def test_torch_dataset_in(demo, run):
    torch = package("torch")
    paths, labels = half_labelled(demo)

    class Photos(Pairs, torch.utils.data.Dataset):
        pass

    numbers = sorted({label for label in labels if label})
    dataset = Photos(paths, torch.tensor([-1 if label is None else numbers.index(label) for label in labels]))
    again = protogcd.discover(images=dataset, **QUICK)
    assert sorted(labels_given(again)) == sorted(str(i) for i in range(10))
    assert len(again.predictions) == len(run.predictions)
    same_as_files(run.model, run.model.predict(Photos(paths[:5], labels)), paths[:5])


def test_torch_tensors_in(demo, run):
    torch, image = package("torch"), package("PIL.Image")
    paths = files(demo / "unlabelled")[:4]
    pixels = np.stack([np.asarray(image.open(path).convert("RGB")) for path in paths])
    same_as_files(run.model, run.model.predict(pixels), paths)
    same_as_files(run.model, run.model.predict(torch.from_numpy(pixels).permute(0, 3, 1, 2)), paths)
    same_as_files(run.model, run.model.predict([torch.from_numpy(one) for one in pixels]), paths)
    with pytest.raises(protogcd.DataError, match="uint8"):
        run.model.predict([torch.rand(3, 32, 32)])


class Folder:
    """What torchvision's ImageFolder has: classes, samples, targets."""

    def __init__(self, folder):
        self.classes = sorted(path.name for path in folder.iterdir())
        self.samples = [(path, self.classes.index(path.split("/")[-2])) for path in files(folder)]
        self.targets = [target for _, target in self.samples]


def check_image_folder(folder, demo, run):
    found = run.model.predict(folder)
    assert len(found) == len(folder.samples)
    same_as_files(run.model, found, [path for path, _ in folder.samples])
    with pytest.raises(protogcd.UsageError, match="no unlabelled images"):  # a folder's images all have labels
        protogcd.discover(images=folder, **QUICK)
    y = [folder.classes[target] if target < 6 else None for target in folder.targets]
    again = protogcd.discover(images=folder, y=y, **QUICK | dict(k=10))
    assert sorted(labels_given(again)) == folder.classes[:6]


def test_object_like_an_image_folder_in(demo, run):
    check_image_folder(Folder(demo / "labelled"), demo, run)


def test_image_folder_of_torchvision_in(demo, run):
    check_image_folder(package("torchvision.datasets").ImageFolder(str(demo / "labelled")), demo, run)


def test_datasets_dataset_in(demo, run):
    datasets = package("datasets")
    paths, labels = half_labelled(demo)
    names = sorted({label for label in labels if label})
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=names)})
    table = datasets.Dataset.from_dict({"image": paths, "label": [-1 if label is None else names.index(label) for label in labels]}, features=features)
    again = protogcd.discover(images=table, **QUICK)
    assert sorted(labels_given(again)) == names
    assert labels_given(again) == labels_given(run)
    same_as_files(run.model, run.model.predict(table.select(range(6))), paths[:6])
    undecoded = table.select(range(6)).cast_column("image", datasets.Image(decode=False))
    same_as_files(run.model, run.model.predict(undecoded), paths[:6])


def test_tables_in(demo, run):
    pandas, pyarrow = package("pandas"), package("pyarrow")
    paths, labels = half_labelled(demo)
    frame = pandas.DataFrame({"path": paths, "label": labels})
    assert labels_given(protogcd.discover(manifest=frame, **QUICK)) == labels_given(run)
    assert labels_given(protogcd.discover(manifest=pyarrow.Table.from_pandas(frame), **QUICK)) == labels_given(run)
    names = sorted({label for label in labels if label})
    frame["label"] = [np.nan if label is None else names.index(label) for label in labels]  # floats, for the gaps
    assert sorted(labels_given(protogcd.discover(manifest=frame, **QUICK))) == sorted(str(i) for i in range(10))
    frame["label"] = frame["label"].astype("Int64")  # pandas.NA
    assert sorted(labels_given(protogcd.discover(images=frame["path"], y=frame["label"], **QUICK))) == sorted(str(i) for i in range(10))


def test_tables_out(run, tmp_path):
    pandas, parquet = package("pandas"), package("pyarrow.parquet")
    found = run.predictions
    frame, table = found.to_pandas(), found.to_arrow()
    found.to_parquet(tmp_path / "found.parquet")
    assert parquet.read_table(tmp_path / "found.parquet").equals(table)
    again = pandas.read_parquet(tmp_path / "found.parquet")
    assert again["label"].tolist() == frame["label"].tolist() == found.label.tolist()
    assert table["stability"].null_count == len(found)  # a run with one beginning has none
    assert again["is_new"].dtype == bool and again["confidence"].dtype == np.float64
    assert (again["confidence"].to_numpy() == found.confidence).all()


def test_onnxruntime_agrees_with_the_model(demo, run, tmp_path):
    onnxruntime, image = package("onnxruntime"), package("PIL.Image")
    file = protogcd.export_model(run, tmp_path / "trained.onnx")
    session = onnxruntime.InferenceSession(str(file))
    notes = session.get_modelmeta().custom_metadata_map
    size, mean, std = int(notes["image_size"]), *(np.array(notes[name].split(","), np.float32) for name in ("mean", "std"))
    paths = files(demo / "unlabelled")[:6]
    side, edge = round(size / 0.875), (round(size / 0.875) - size) // 2

    def prepared(path):
        small = image.open(path).convert("RGB").resize((side, side), image.Resampling.BICUBIC)
        cut = np.asarray(small, np.float32)[edge:edge + size, edge:edge + size] / 255
        return ((cut - mean) / std).transpose(2, 0, 1)

    _, _, probabilities = session.run(None, {"images": np.stack([prepared(path) for path in paths]).astype(np.float32)})
    ours = run.model.predict(paths, probabilities=True)
    classes = json.loads(notes["classes"])
    assert classes == run.model.classes
    assert [classes[i] for i in probabilities.argmax(1)] == ours.label.tolist()
    assert np.abs(probabilities - ours.probabilities).max() < 5e-3  # the trunk is in bfloat16 where the machine is fast in it


def test_an_exported_backbone_is_one(demo, run, tmp_path):
    file = protogcd.export_model(run, tmp_path / "trained.safetensors")
    features = protogcd.embed(demo / "outliers", tmp_path / "features.npy", backbone=file, dtype="float32")
    same = protogcd.embed(demo / "outliers", tmp_path / "same.npy", model=run, dtype="float32")
    assert np.abs(features - same).max() < 1e-4


def test_fiftyone_fields(run):
    fiftyone = package("fiftyone")
    found = run.predictions
    embeddings = run.model.embed(found.path[:3])
    with pytest.raises(protogcd.DataError, match="3 rows for"):
        interop.fiftyone_fields(found, embeddings=embeddings)
    some = run.model.predict([*found.path[:2], "gone.png"])
    rows = interop.fiftyone_fields(some, embeddings=np.vstack([embeddings[:2], np.full_like(embeddings[:1], np.nan)]))
    sample = fiftyone.Sample(filepath=some.path[0], **rows[0])
    assert (sample.protogcd.label, sample.protogcd.confidence) == (some.label[0], some.confidence[0])
    assert sample.protogcd_is_new == some.is_new[0] and (sample.protogcd_embedding == embeddings[0]).all()
    assert not {"protogcd", "protogcd_embedding"} & set(rows[2])  # unread

    class Held:  # what is used of a fiftyone.Dataset
        samples = [fiftyone.Sample(filepath=str(some.path[1])), fiftyone.Sample(filepath="/other.png")]

        def iter_samples(self, autosave):
            return iter(self.samples)

    held = interop.to_fiftyone(some, Held(), field="found")
    assert held.samples[0].found.label == some.label[1] and not held.samples[1].has_field("found")


def test_fiftyone_dataset(run):
    package("fiftyone")
    found = run.predictions
    try:
        dataset = interop.to_fiftyone(found, embeddings=run.model.embed(found.path))
    except Exception as error:
        if "MongoDB" not in str(error) and "mongod" not in str(error):
            raise
        pytest.skip("fiftyone has no MongoDB here")
    assert dataset.count_values("protogcd.label") == {name: found.label.tolist().count(name) for name in set(found.label)}
    dataset = interop.to_fiftyone(found, dataset, field="again")
    assert dataset.count("again.label") == len(found)
    dataset.delete()


def test_spotlight_shows_the_frame(run):
    package("pandas")
    found = run.predictions
    frame, dtype = interop.to_spotlight(found, embeddings=run.model.embed(found.path))
    assert len(frame) == len(found) and frame["embedding"][0].dtype == np.float32
    spotlight = package("renumics.spotlight")
    viewer = spotlight.show(frame, dtype=dtype, no_browser=True, wait=False)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{viewer.port}/api/table/", timeout=30) as answer:
            columns = {column["name"]: column["dtype"]["name"] for column in json.load(answer)["columns"]}
    finally:
        viewer.close(wait=False)
    assert (columns["path"], columns["label"], columns["embedding"], columns["is_new"]) == ("Image", "Category", "Embedding", "bool")


def test_ray_data_with_predictor(demo, run):
    ray = package("ray")
    package("ray.data")
    image = package("PIL.Image")
    paths = files(demo / "unlabelled")[:10]
    try:
        ray.init(num_cpus=2, include_dashboard=False, logging_level="error", configure_logging=True)
    except Exception as error:
        pytest.skip(f"ray does not start here: {error}")
    try:
        options = dict(fn_constructor_args=(str(run.folder),), fn_constructor_kwargs={"threads": 1}, compute=ray.data.ActorPoolStrategy(size=1), batch_size=4)
        by_path = ray.data.from_items([{"path": path} for path in paths]).map_batches(protogcd.Predictor, **options).take_all()
        pixels = [{"image": np.asarray(image.open(path).convert("RGB")), "name": path} for path in paths]
        by_pixels = ray.data.from_items(pixels).map_batches(protogcd.Predictor, **options).take_all()
    finally:
        ray.shutdown()
    expected = dict(zip(paths, run.model.predict(paths).label))
    assert {row["path"]: row["label"] for row in by_path} == expected
    assert {row["name"]: row["label"] for row in by_pixels} == expected


def test_predictor_names_what_it_did_not_find(run):
    predictor = protogcd.Predictor(run.folder, threads=1)
    with pytest.raises(protogcd.DataError, match="picture"):
        predictor({"picture": []})
    assert protogcd.Predictor(run.folder, column="picture")({"picture": ["gone.png"]})["label"].tolist() == [""]
