"""The one error that a person causes and can mend, and the one warning for people to read."""


class InputError(ValueError):
    """Bad input: the message says what was wrong, where, and what to do. The command line exits with 2."""


class Note(UserWarning):
    """Something worth knowing that is no error. The command line prints it as a line `note: ...`."""
