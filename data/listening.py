"""Open sockets for servers, and check the addresses and host names that they serve."""

import ipaddress
import socket
from collections.abc import Callable, Iterable
from typing import Annotated
from urllib.parse import urlsplit

from annotated_types import Ge, Le

from .errors import InputError

Port = Annotated[int, Ge(0), Le(65_535)]


def listen(host: str, port: int, flag: str) -> socket.socket:
    """Return a listening TCP socket.

    :param host: an address of this machine, IPv4 or IPv6; "" for all its addresses.
    :param port: 0 for any free port.
    :param flag: the option that sets `host`, for the message.
    :raises InputError: the port is in use, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError, ValueError) as error:
        raise InputError(
            f"cannot listen at {host or 'any address'}, port {port} ({error}): choose another --port, or an address of "
            f"this machine as {flag}"
        ) from None


def is_loopback(host: str) -> bool:
    """Return whether only programs on this machine can connect to the address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def names_of(host: str, more: Iterable[str] = ()) -> Callable[[str], bool]:
    """Return a function from a Host header to whether it names this server; requests for other names are refused.

    Another site can let its own host name resolve to the address of this machine (DNS rebinding). A browser then takes
    this server for that site, and lets the site's page read the answers.

    :param host: the address at which the server listens.
    :param more: further names of this machine.
    """
    local = is_loopback(host)
    own = () if local else (socket.gethostname(), socket.getfqdn())
    known = {name.lower() for name in ("localhost", host, *own, *more) if name}

    def know(header: str) -> bool:
        try:
            name = (urlsplit(f"//{header}").hostname or "").rstrip(".")
        except ValueError:
            return False
        if name in known:
            return True
        try:  # another site cannot use an address as its host name
            return ipaddress.ip_address(name).is_loopback or not local
        except ValueError:
            return False

    return know


def check_reach(host: str, open_to_others: bool, also: str = "") -> None:
    """Refuse an address that other machines can reach, unless `open_to_others` permits it.

    :param also: further options that the message names after --open-to-others.
    :raises InputError: other machines can reach the address, and `open_to_others` is False.
    """
    if not is_loopback(host) and not open_to_others:
        where = f"others reach {host}" if host else "others reach this machine at all its addresses"
        raise InputError(f"{where}: say --open-to-others,{also} or leave out --host")


def shown_address(listening: socket.socket) -> str:
    """Return HOST:PORT of a listening socket, an IPv6 host in brackets."""
    host, port = listening.getsockname()[:2]
    return f"{f'[{host}]' if ':' in host else host}:{port}"
