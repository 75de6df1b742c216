"""Errors of the library, each also one of Python's own, so that code that knows nothing of protogcd handles them well."""


class Error(Exception):
    """What went wrong, naming the input at fault; `hint` says what to do about it, if anything can be said."""

    message: str
    hint: str

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[type["Error"], tuple[str, str]]:
        return type(self), (self.message, self.hint)


class UsageError(Error, ValueError):
    """An argument that is unknown, missing or not allowed."""


class ConfigError(Error, ValueError):
    """A configuration file."""


class DataError(Error, ValueError):
    """Images, manifests, datasets or arrays."""


class ModelFileError(Error, ValueError):
    """Weight files, checkpoints, run folders."""


class DeviceError(Error, RuntimeError):
    """A device that is absent or out of memory."""


class FileError(Error, OSError):
    """Reading or writing files: permissions, a full disk."""

    def __init__(self, message: str, hint: str = "") -> None:
        OSError.__init__(self, message)
        self.message, self.hint = message, hint


class TrainingError(Error, ArithmeticError):
    """Numbers that training made: it diverged."""


class InternalError(Error, RuntimeError):
    """A bug of ours."""


class Interrupted(Error, KeyboardInterrupt):
    """Ctrl-C. A run that was stopped goes on with `resume=True`."""


class ForkError(Error, RuntimeError):
    """A call in a process that was forked after libtorch's threads had been started."""
