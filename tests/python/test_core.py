"""The module does what the program does, to the bit, and takes images as people have them."""
import io
import pickle

import numpy as np
import pytest

import protogcd
from tiny import TINY

Image = pytest.importorskip("PIL.Image")


def flags(settings):
    return [word for key, value in settings.items()
            for word in ([f"--{key.replace('_', '-')}={str(value).lower()}"] if isinstance(value, bool) else [f"--{key.replace('_', '-')}", value])]


def test_a_run_is_the_programs_to_the_bit(demo, run, program, tmp_path):
    program("discover", "--labelled", demo / "labelled", "--unlabelled", demo / "unlabelled", "--truth", demo / "truth.csv", "--out", tmp_path / "run",
            *flags(TINY))
    for file in ("predictions.csv", "model/model.safetensors"):
        assert (run.folder / file).read_bytes() == (tmp_path / "run" / file).read_bytes(), file
    assert run.report().is_file()


def test_predictions_are_the_programs_to_the_bit(demo, run, program):
    told = program("predict", "--model", run.folder, "--images", demo / "outliers", "--probabilities", "all", "--json")["predictions"]
    found = protogcd.Model.load(run.folder).predict(demo / "outliers", probabilities=True)
    assert [row["path"] for row in told] == list(found.path)
    assert [row["class"] for row in told] == list(found.label)
    assert [np.float32(row["confidence"]) for row in told] == [np.float32(value) for value in found.confidence]
    assert [row["is_outlier"] for row in told] == list(found.is_outlier)
    for i, name in enumerate(found.classes):
        np.testing.assert_array_equal(np.array([row["p_" + name] for row in told], np.float32), found.probabilities[:, i])


def images_of(files, kind):
    if kind == "bytes":
        return [open(file, "rb").read() for file in files]
    pictures = [Image.open(file).convert("RGB") for file in files]
    if kind == "PIL":
        return pictures
    arrays = [np.asarray(picture) for picture in pictures]
    if kind == "tensors":
        torch = pytest.importorskip("torch")
        return [torch.from_numpy(array.copy()).permute(2, 0, 1).contiguous() for array in arrays]
    return np.stack(arrays) if kind == "one array" else arrays


@pytest.mark.parametrize("kind", ["bytes", "arrays", "one array", "PIL", "tensors"])
def test_images_in_memory_are_predicted_as_their_files_are(run, files, kind):
    expected, found = run.model.predict(files), run.model.predict(images_of(files, kind))
    assert list(expected.label) == list(found.label)
    for column in ("confidence", "typicality", "outlier_score"):
        np.testing.assert_array_equal(getattr(expected, column), getattr(found, column))
    np.testing.assert_array_equal(run.model.embed(files), run.model.embed(images_of(files, kind)))


def test_an_unreadable_image_keeps_its_place(run, files, tmp_path):
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"\x89PNG no more")
    for images in ([files[0], str(bad), files[1]], [open(files[0], "rb").read(), b"nothing", open(files[1], "rb").read()]):
        found = run.model.predict(images)
        assert found.label[1] is None and np.isnan(found.confidence[1]) and list(found.unread) == [1]
        assert list(found.label[[0, 2]]) == list(run.model.predict(files[:2]).label)
        features = run.model.embed(images)
        assert np.isnan(features[1]).all() and not np.isnan(features[[0, 2]]).any()


def test_paths_and_images_in_memory_may_be_mixed(run, files):
    mixed = [files[0], open(files[1], "rb").read(), files[2]]
    assert list(run.model.predict(mixed).label) == list(run.model.predict(files[:3]).label)


def test_what_is_no_image_is_refused_by_its_place(run):
    with pytest.raises(protogcd.DataError, match="image 1: a int is no image"):
        run.model.predict([np.zeros((8, 8, 3), np.uint8), 7])
    with pytest.raises(protogcd.DataError, match="image 0: numbers of type float32"):
        run.model.predict([np.zeros((8, 8, 3), np.float32)])


def test_arrays_and_labels_make_a_run_of_their_own(demo):
    images, y = [], []
    for folder in sorted((demo / "labelled").iterdir()):
        for file in sorted(folder.glob("*.png")):
            images.append(np.asarray(Image.open(file).convert("RGB")))
            y.append(folder.name)
    for file in sorted((demo / "unlabelled").rglob("*.png"))[:30]:
        images.append(open(file, "rb").read())
        y.append(None)
    run = protogcd.discover(images=images, y=y, **TINY)
    assert len(run.predictions) == 30
    assert sum(not one["is_new"] for one in run.classes) == len(set(y) - {None})
    folder = run.folder
    page = run._repr_html_()
    assert "data:image/jpeg;base64" in page and run.classes[0]["name"] in page
    del run
    assert not folder.exists(), "a run without out= goes with its object"


def test_save_keeps_a_temporary_run(demo, tmp_path):
    run = protogcd.discover(demo / "labelled", demo / "unlabelled", **TINY)
    before, temporary = list(run.predictions.label), run.folder
    run.save(tmp_path / "kept")
    assert run.folder == (tmp_path / "kept").resolve() and not temporary.exists()
    assert list(protogcd.Run(tmp_path / "kept").predictions.label) == before
    with pytest.raises(protogcd.FileError, match="is there already"):
        run.save(tmp_path / "kept")


def test_a_result_of_a_later_format_is_refused_by_name(tmp_path):
    (tmp_path / "result.json").write_text('{"format": 2}')
    with pytest.raises(protogcd.ModelFileError, match="result.json: format 2 is not known"):
        protogcd.Run(tmp_path)


def test_a_model_travels_as_its_folder(run, files):
    copy = pickle.loads(pickle.dumps(run.model))
    assert list(copy.predict(files).label) == list(run.model.predict(files).label)


def test_verbs_answer_with_values(demo, run, tmp_path):
    found = protogcd.evaluate(run, labelled=demo / "labelled", unlabelled=demo / "unlabelled", truth=demo / "truth.csv")
    assert found["all"] == run.accuracy["all"]
    features = protogcd.embed(demo / "outliers", tmp_path / "features.npy", model=run)
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    np.testing.assert_allclose(unit, run.model.embed(demo / "outliers"), atol=1e-6)
    estimate = protogcd.estimate_k(labelled=demo / "labelled", unlabelled=demo / "unlabelled")
    assert estimate.low <= estimate.k <= estimate.high and estimate.k_old == 10
    assert {"protogcd", "simgcd", "gcd", "kmeans"} <= {method["name"] for method in protogcd.methods()}
    assert protogcd.ood(run, id=demo / "unlabelled", outliers=demo / "outliers")["scores"]


def test_a_data_frame_is_a_manifest(demo, tmp_path):
    pandas = pytest.importorskip("pandas")
    rows = [(str(file), folder.name) for folder in (demo / "labelled").iterdir() for file in folder.glob("*.png")]
    rows += [(str(file), None) for file in (demo / "unlabelled").rglob("*.png")]
    run = protogcd.discover(manifest=pandas.DataFrame(rows, columns=["path", "label"]), out=tmp_path / "run", **TINY)
    table = run.predictions.to_pandas()
    assert len(table) == sum(label is None for _, label in rows) and table["is_new"].dtype == bool


def test_the_command_line_is_the_programs(demo, run, capfd):
    from protogcd import _core
    assert _core.main(["predict", "--model", str(run.folder), "--images", str(demo / "outliers"), "--nonsense"]) == 2
    assert "unknown option '--nonsense'" in capfd.readouterr().err


def test_a_picture_in_a_buffer_is_an_image(run, files):
    buffer = io.BytesIO(open(files[0], "rb").read())
    assert list(run.model.predict(buffer.getvalue()).label) == list(run.model.predict(files[0]).label)


def test_a_refused_call_leaves_the_images_of_a_run_alone(demo, tmp_path):
    files = sorted((demo / "labelled").rglob("*.png"))[:40] + sorted((demo / "unlabelled").rglob("*.png"))[:40]
    y = [file.parent.name if "/labelled/" in str(file) else None for file in files]
    images = [np.asarray(Image.open(file).convert("RGB")) for file in files]
    protogcd.discover(images=images, y=y, out=tmp_path / "run", **TINY)
    before = {file.name: file.read_bytes() for file in (tmp_path / "run.data").iterdir()}
    for more in ({}, {"overwrite": True, "epoch": 3}):
        with pytest.raises(protogcd.UsageError):
            protogcd.discover(images=images[::-1], y=y[::-1], out=tmp_path / "run", **TINY, **more)
        assert {file.name: file.read_bytes() for file in (tmp_path / "run.data").iterdir()} == before
    protogcd.discover(images=images[1:], y=y[1:], out=tmp_path / "run", overwrite=True, **TINY)
    assert len(list((tmp_path / "run.data").iterdir())) == len(before) - 1


def test_images_in_memory_may_be_larger_than_records_of_a_file(run):
    wide = np.zeros((8, 5000, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(wide).save(buffer, "PNG")
    assert run.model.predict([wide]).label[0] == run.model.predict([buffer.getvalue()]).label[0] is not None
    assert run.model.predict([b"", wide]).label[0] is None


def test_pictures_are_turned_and_scaled_as_their_files_are(run, files, tmp_path):
    turned = Image.open(files[0]).convert("RGB").rotate(90, expand=True)
    exif = turned.getexif()
    exif[0x0112] = 6
    turned.save(tmp_path / "turned.png", exif=exif)
    grey = np.asarray(Image.open(files[1]).convert("L")).astype(np.uint16) * 256 + 7
    Image.fromarray(grey).save(tmp_path / "deep.png")
    paths = [tmp_path / "turned.png", tmp_path / "deep.png"]
    np.testing.assert_array_equal(run.model.embed([Image.open(path) for path in paths]), run.model.embed(paths))


def test_a_single_path_that_is_not_there_is_an_error(run):
    with pytest.raises(protogcd.DataError, match="no-such-folder"):
        run.model.predict("no-such-folder")


def test_a_file_whose_name_is_no_utf8_is_predicted(run, files, tmp_path):
    import os
    import shutil
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.png")
    shutil.copy(files[0], odd)
    assert list(run.model.predict([odd]).path) == [odd] and run.model.predict(tmp_path).label[0] is not None


def test_a_model_keeps_the_folder_of_a_temporary_run(demo, files):
    model = protogcd.discover(demo / "labelled", demo / "unlabelled", **TINY).model
    assert pickle.loads(pickle.dumps(model)).classes == model.classes
    assert protogcd.Model.load(model.folder).classes == model.classes


def test_options_may_be_numpys_and_lists(demo, tmp_path):
    run = protogcd.discover(demo / "labelled", demo / "unlabelled", out=tmp_path / "run", report=np.False_, mean=[0.5, 0.5, 0.5], std=[0.5, 0.5, 0.5],
                            runs=None, **(TINY | {"epochs": np.int64(2)}))
    assert not (run.folder / "report.html").exists()
    (tmp_path / "c.toml").write_text(f'labelled = "{demo}/labelled"\nunlabelled = "{demo}/unlabelled"\n')
    assert protogcd.discover(config=tmp_path / "c.toml", **TINY).k == 16
