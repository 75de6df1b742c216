"""`python -m protogcd ...`: the program's command line."""
import sys


def main() -> int:
    from . import _core
    sys.stdout.flush()
    return _core.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
