"""Python as a host: errors, messages, progress, Ctrl-C, forked processes, memory, and nothing that stays changed."""
import logging
import multiprocessing
import os
import pickle
import resource
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import protogcd
from children import child_by_spawn, child_of_a_fork
from tiny import TINY


def python(script, *words, **more):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(script), *map(str, words)], capture_output=True, text=True, timeout=300, **more)


def test_errors_are_also_pythons_own_and_spell_keywords(demo):
    data = {"labelled": demo / "labelled", "unlabelled": demo / "unlabelled"}
    with pytest.raises(protogcd.UsageError, match="no option 'epoch'; did you mean 'epochs'"):
        protogcd.discover(**data, epoch=3)
    with pytest.raises(ValueError, match="k_max=: 'many' is not allowed"):
        protogcd.estimate_k(**data, k_max="many")
    with pytest.raises(protogcd.UsageError) as found:
        protogcd.discover(**data, k=3)
    assert "--" not in str(found.value), str(found.value)
    with pytest.raises(protogcd.DataError, match="nowhere"):
        protogcd.discover(labelled="nowhere", unlabelled="nowhere")
    with pytest.raises(protogcd.ModelFileError, match="nowhere"):
        protogcd.Model.load("nowhere")
    assert issubclass(protogcd.FileError, OSError) and issubclass(protogcd.Interrupted, KeyboardInterrupt)
    copy = pickle.loads(pickle.dumps(protogcd.DataError("a", "b")))
    assert (copy.message, copy.hint) == ("a", "b")


def test_an_error_may_name_a_file_whose_name_is_no_utf8(tmp_path):
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/no-\xff")
    with pytest.raises(protogcd.ModelFileError, match="no-\ufffd"):
        protogcd.Model.load(odd)


def test_messages_go_to_logging_and_progress_to_the_callback(demo, caplog):
    seen = []
    with caplog.at_level(logging.DEBUG, logger="protogcd"):
        protogcd.discover(demo / "labelled", demo / "unlabelled", progress=lambda *state: seen.append(state), **TINY)
    assert any(record.name == "protogcd" for record in caplog.records)
    assert any(task == "bank" for task, *_ in seen)
    assert all(done <= total for _, done, total, unit, _ in seen if unit)


def test_a_callback_that_fails_does_not_stop_the_work(demo, monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)

    def show(*_):
        raise RuntimeError("no")

    assert protogcd.discover(demo / "labelled", demo / "unlabelled", progress=show, **TINY).k == 16


def test_nothing_global_stays_changed(demo):
    script = """
        import os, signal, sys, threading
        before = dict(os.environ), signal.getsignal(signal.SIGINT), os.getcwd(), sys.getswitchinterval()
        import protogcd
        assert "torch" not in sys.modules and "pandas" not in sys.modules and "sklearn" not in sys.modules
        protogcd.kmeans([[0.0], [1.0], [5.0]], 2)
        assert before == (dict(os.environ), signal.getsignal(signal.SIGINT), os.getcwd(), sys.getswitchinterval())
        try:
            os.kill(os.getpid(), signal.SIGINT)
            import time; time.sleep(5)
        except KeyboardInterrupt:
            print("still Python's")
    """
    done = python(script)
    assert done.stdout == "still Python's\n", done.stderr


def test_a_stopped_run_goes_on_to_the_same_bits(demo, tmp_path):
    settings = TINY | {"epochs": 40}  # long enough to be stopped in the middle
    whole = protogcd.discover(demo / "labelled", demo / "unlabelled", out=tmp_path / "whole", **settings)

    signals = []  # one: a second might come when the call is over

    def stop(task, done, *_):
        if task == "train" and done >= 2 and not signals:
            signals.append(os.kill(os.getpid(), signal.SIGINT))

    with pytest.raises(protogcd.Interrupted):
        protogcd.discover(demo / "labelled", demo / "unlabelled", out=tmp_path / "run", progress=stop, **settings)
    run = protogcd.discover(out=tmp_path / "run", resume=True)
    assert (run.folder / "predictions.csv").read_bytes() == (whole.folder / "predictions.csv").read_bytes()


def test_ctrl_c_during_a_call_that_ends_is_pythons(run):
    signals = []

    def stop(*_):
        if not signals:
            signals.append(os.kill(os.getpid(), signal.SIGINT))

    with pytest.raises(KeyboardInterrupt):
        protogcd.Model.load(run.folder).predict([np.zeros((8, 8, 3), np.uint8)], progress=stop)
        time.sleep(1)


def test_a_callback_cannot_use_the_model_that_calls_it(run, files):
    seen = []

    def nested(*_):
        try:
            run.model.predict(files[:1])
        except protogcd.UsageError as error:
            seen.append(str(error))

    run.model.predict(files, progress=nested)
    assert seen and "cannot use the model" in seen[0]


def test_an_interpreter_may_end_while_a_thread_works(demo):
    done = python("""
        import sys, threading, time, protogcd
        started = threading.Event()
        def work():
            protogcd.discover(sys.argv[1] + "/labelled", sys.argv[1] + "/unlabelled", k=16, epochs=1000, bank_views=2, beginnings=1,
                              calibrate_confidence=False, look_at_data=False, progress=lambda *_: started.set())
        threading.Thread(target=work, daemon=True).start()
        started.wait(60)
        time.sleep(0.3)
        """, demo)
    assert done.returncode == 0, done.stderr[-400:]


STOPPED = """
    import sys, protogcd
    try:
        protogcd.discover(sys.argv[1] + "/labelled", sys.argv[1] + "/unlabelled", out=sys.argv[2], k=16, epochs=100000, bank_views=2, beginnings=1,
                          calibrate_confidence=False, look_at_data=False, device="cpu", progress=lambda *s: print(s[0], s[1], flush=True))
    except KeyboardInterrupt as stop:
        print("stopped", type(stop).__name__, flush=True)
"""


def test_ctrl_c_stops_at_a_point_to_go_on_from(demo, tmp_path):
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(STOPPED), demo, tmp_path / "run"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.startswith("train") and int(line.split()[1]) > 3:
            break
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert output.endswith("stopped Interrupted\n"), output + errors
    assert (tmp_path / "run/config.toml").is_file() and not (tmp_path / "run/result.json").exists()
    checkpoints = sorted((tmp_path / "run").rglob("*.safetensors"))
    assert checkpoints, "there is something to go on from"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_after_computing_is_a_clear_error(run):
    run.model.predict([])
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=child_of_a_fork, args=(queue,))
    process.start()
    assert "forked after protogcd had computed" in queue.get(timeout=60)
    process.join()


def test_forked_workers_that_only_load_are_fine(files):
    torch_data = pytest.importorskip("torch.utils.data")

    class Files(torch_data.Dataset):
        def __len__(self):
            return len(files)

        def __getitem__(self, i):
            return np.fromfile(files[i], np.uint8)[:16]

    protogcd.kmeans([[0.0], [1.0], [5.0]], 2)
    assert sum(len(batch) for batch in torch_data.DataLoader(Files(), batch_size=4, num_workers=2)) == len(files)


@pytest.mark.parametrize("kind", ["spawn", "forkserver"])
def test_processes_of_their_own_predict(run, files, kind):
    context = multiprocessing.get_context(kind)
    queue = context.Queue()
    process = context.Process(target=child_by_spawn, args=(str(run.folder), files[0], queue))
    process.start()
    assert queue.get(timeout=120) == list(run.model.predict([files[0]]).label)
    process.join()


def test_joblib_workers_predict(run, files):
    joblib = pytest.importorskip("joblib")
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(run.model.predict)([file]) for file in files[:4])
    assert [one.label[0] for one in found] == list(run.model.predict(files[:4]).label)


def test_threads_may_share_a_model(run, files):
    from concurrent.futures import ThreadPoolExecutor
    expected = list(run.model.predict(files).label)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: run.model.predict(files), range(6)):
            assert list(found.label) == expected


def test_memory_stays_flat_over_ten_thousand_calls(run, files):
    pixels = [np.zeros((8, 8, 3), np.uint8)]
    X = np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32)

    def rss():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    def calls(count):
        for _ in range(count):
            protogcd.metrics.gcd_accuracy([0, 0, 1, 2], [1, 1, 0, 0], [0])
            protogcd.kmeans(X, 3, starts=1, threads=1)
            with pytest.raises(protogcd.UsageError):
                protogcd.kmeans(X, 13, starts=1, threads=1)

    calls(1000)
    for _ in range(20):
        run.model.predict(pixels)
    before = rss()
    calls(3200)
    for _ in range(400):
        run.model.predict(pixels)
    assert rss() - before < 8 << 20


def test_threads_are_told(monkeypatch):
    from protogcd import _host
    assert _host.number_of_threads(3) == 3 and _host.number_of_threads(None) == len(os.sched_getaffinity(0))
    with pytest.raises(protogcd.UsageError, match="threads="):
        _host.number_of_threads(-1)


def test_the_import_is_quick_and_brings_no_torch():
    began = time.monotonic()
    done = python("import protogcd, sys; print('torch' in sys.modules)")
    assert done.stdout == "False\n", done.stderr
    assert time.monotonic() - began < 10  # what it takes is told in docs/python.md
