"""`python -m gumption` is the command `gumption`."""

from gumption.scripts.cli import main

if __name__ == "__main__":
    main()
