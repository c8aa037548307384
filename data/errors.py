"""The one error that a person causes and can mend."""


class InputError(ValueError):
    """Bad input: the message says what was wrong, where, and what to do. The command line exits with 2."""
