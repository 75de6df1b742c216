"""What every call of the extension shares: logging, progress, threads, Ctrl-C and forked processes."""
import atexit
import json
import logging
import operator
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, Optional, Union

import numpy as np

from . import _core
from .errors import ForkError, UsageError

logger = logging.getLogger("protogcd")
logger.addHandler(logging.NullHandler())

_LEVELS = {0: logging.DEBUG, 1: logging.INFO, 2: logging.WARNING, 3: logging.ERROR}
#: What is called with (task, done, total, unit, is_last); a unit of "" is a line of text.
Show = Callable[[str, int, int, str, bool], object]
#: `progress=` of every call.
Progress = Union[bool, Show, None]

_state = {"has_computed": False, "is_forked": False}


def _after_fork() -> None:
    _state["is_forked"] = _state["has_computed"]


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_core.stop_all_calls)  # of threads that nobody waits for


def begin() -> None:
    """Before anything is computed. Threads do not survive a fork, and libtorch would wait for them for ever."""
    if _state["is_forked"]:
        raise ForkError("this process was forked after protogcd had computed in its parent",
                        "start workers by 'spawn' or 'forkserver', or fork before the first call")
    _state["has_computed"] = True


def is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def number_of_threads(threads: Optional[int]) -> int:
    number = whole_number("threads", 0 if threads is None else threads)
    if number == 0:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return number


def whole_number(name: str, value: Any) -> int:
    """UsageError, naming the keyword, unless it is an integer of at least 0."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise UsageError(f"{name}=: {value!r} is not allowed: expected an integer of at least 0")
    return number


def write_log(level: int, message: str) -> None:
    logger.log(_LEVELS.get(level, logging.INFO), "%s", message)


class Bars:
    """A tqdm bar for each task, in a notebook too; plain silence where tqdm is absent."""

    def __init__(self) -> None:
        self._bars: dict[str, Any] = {}

    def __call__(self, task: str, done: int, total: int, unit: str, is_last: bool) -> None:
        from tqdm.auto import tqdm
        if not unit:
            tqdm.write(task)
            return
        bar = self._bars.get(task)
        if bar is None:
            bar = self._bars[task] = tqdm(total=total, desc=task, unit=" " + unit, leave=False)
        bar.update(done - bar.n)
        if is_last:
            self._bars.pop(task).close()

    def close(self) -> None:
        while self._bars:
            self._bars.popitem()[1].close()


class progress_of:
    """The progress argument of the extension, for a call's `progress=`: True, False, or None (True where a terminal or notebook shows it)."""

    def __init__(self, wanted: Progress) -> None:
        self._bars: Optional[Bars] = None
        self._show: Optional[Show] = None
        if wanted is None:
            wanted = _is_watched()
        if callable(wanted):
            self._show = wanted
            return
        if wanted:
            try:
                import tqdm.auto  # noqa: F401
            except ImportError:
                return
            self._show = self._bars = Bars()

    def __enter__(self) -> Optional[Show]:
        return self._show

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.close()


def _is_watched() -> bool:
    import sys
    return sys.stderr is not None and sys.stderr.isatty() or "ipykernel" in sys.modules


def text_of(value: Any) -> str:
    """An option's value as the command line would have it; None: the option is not given."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    return str(value)


def call(verb: str, options: Mapping[str, Any], progress: Progress = None) -> Any:
    """Runs a verb of the program with options by key; its `--json` answer as Python values."""
    begin()
    given = values_of(options)
    with progress_of(progress) as show:
        return json.loads(_core.call(verb, given, write_log, show, is_main_thread()))


def values_of(options: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Options as the extension takes them; those that are None are not given."""
    given = []
    for key, value in options.items():
        if value is None:
            continue
        is_list = isinstance(value, (list, tuple, np.ndarray))
        given.append((key.rstrip("_"), [text_of(one) for one in value] if is_list else [text_of(value)]))
    return given
