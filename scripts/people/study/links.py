"""Personal links and completion codes, computed from the secret of a study's data folder."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from gumption.data import InputError
from gumption.data.reading import read_text
from gumption.data.writing import write_errors

FILE = "secret"
#: Letters and digits of completion codes, without those that look alike.
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
#: Hexadecimal digits of a link's proof: 128 bits.
DIGITS = 32


class Secret:
    """A secret of 256 bits, which authenticates links and codes."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def of(cls, folder: Path) -> Secret:
        """Return the secret of a folder; a missing secret is created.

        :raises InputError: the file cannot be read or written, or holds no secret.
        """
        path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                    file.write(secrets.token_hex(32))
            key = bytes.fromhex(path.read_text(encoding="ascii").strip())
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read or made ({error})") from None
        if len(key) != 32:
            raise InputError(f"{path}: is no secret of a study; restore it from a copy, or links and codes change")
        return cls(key)

    def proof(self, *of: str) -> str:
        """Return the HMAC-SHA256 of the words under this secret, truncated to `DIGITS` hexadecimal digits."""
        return hmac.new(self._key, repr(of).encode(), hashlib.sha256).hexdigest()[:DIGITS]

    def code(self, *of: str) -> str:
        """Return eight letters computed from the words and this secret."""
        digest = hmac.new(self._key, repr(("code", *of)).encode(), hashlib.sha256).digest()
        return "".join(LETTERS[byte % len(LETTERS)] for byte in digest[:8])

    def link(self, kind: str, name: str) -> str:
        """Return the token of a personal link, KIND-NAME-PROOF."""
        return f"{kind}-{name}-{self.proof(kind, name)}"

    def opened(self, token: str) -> tuple[str, str] | None:
        """Return (kind, name) of a token; None for a token that was not made with this secret."""
        kind, _, rest = token.partition("-")
        name, _, proof = rest.rpartition("-")
        right = self.proof(kind, name)
        return (kind, name) if hmac.compare_digest(right.encode(), proof.encode()) else None


class Links:
    """The personal links of a study, in a file of the data folder: a number and a token on each line."""

    def __init__(self, folder: Path, secret: Secret) -> None:
        """:raises InputError: the file cannot be read."""
        self._path, self._secret = folder / "links.csv", secret
        self.count = len(read_text(self._path, "ascii").splitlines()) if self._path.exists() else 0

    def more(self, count: int) -> list[str]:
        """Create further links, append them to the file, and return their tokens."""
        numbers = range(self.count + 1, self.count + 1 + count)
        made = [self._secret.link("invited", str(number)) for number in numbers]
        with write_errors(self._path), self._path.open("a", encoding="ascii") as file:
            file.writelines(f"{number},{token}\n" for number, token in zip(numbers, made, strict=True))
            file.flush()
            os.fsync(file.fileno())
        self.count += count
        return made
