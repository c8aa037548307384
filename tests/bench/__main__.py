"""`python -m tests.bench`: peers measured from a checkout with the developers' packages."""

import sys

from gumption.data import InputError


def main() -> None:
    """Run a case of `peers`, or the experiment of `comparison`; bad input ends with a line and exit code 2."""
    try:
        if sys.argv[1:2] == ["link-prediction"]:
            from .comparison import main as compare

            compare()
        else:
            from .peers import app

            app(prog_name="python -m tests.bench")
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
