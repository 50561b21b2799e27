"""Checks whether Spark encrypts the data of a release on its way and on disks."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, Final, Literal, get_args

from dpsel.budget._strength import warn_caller
from dpsel.exceptions import InvalidParameterError, UnencryptedSparkWarning
from dpsel.spark._sharing import RESERVED, SETTING, is_redacted

__all__ = ["Unencrypted", "check_encryption", "settings"]

#: The reaction if Spark leaves a part of a release unencrypted.
Unencrypted = Literal["warn", "refuse", "accept"]

_DISKS: Final = "local disks get digests with exact weights in clear; set spark.io.encryption.enabled"
_KEY: Final = (
    "local disks get digests with exact weights in clear and, where memory is short, the two halves of the "
    "release key; set spark.io.encryption.enabled on the server, or pass secret_file="
)
_NETWORK: Final = (
    "the network sees rows and the two halves of the release key; set spark.authenticate and "
    "spark.network.crypto.enabled, or spark.ssl.rpc.enabled"
)
_EVENTS: Final = (
    "the event log may get one of the two halves of the release key; start Spark with "
    f"{SETTING}={RESERVED}, which Spark Connect does not show, and let spark.redaction.regex match this name"
)


def check_encryption(session: Any, unencrypted: Unencrypted, *, with_secret_file: bool) -> None:
    """Warn if the settings of a session leave something unencrypted, or refuse it."""
    if unencrypted not in get_args(Unencrypted):
        raise InvalidParameterError(
            "unencrypted must be 'warn', 'refuse' or 'accept'; leave it out to be warned"
        )
    # Called first, since this call makes the event log redact if it can.
    redacted = is_redacted(session)
    found = _exposed(session, redacted=redacted, with_secret_file=with_secret_file)
    if not found or unencrypted == "accept":
        return
    text = f"Spark leaves parts of a release unencrypted: {'. '.join(found)}."
    if unencrypted == "refuse":
        raise InvalidParameterError(f"{text} unencrypted='refuse' does not allow that")
    warn_caller(
        UnencryptedSparkWarning(
            f"{text} unencrypted='accept' is for clusters on which everybody may see the users' data"
        )
    )


def _exposed(session: Any, *, redacted: bool, with_secret_file: bool) -> list[str]:
    """Return a sentence for each part of a release that others can see."""
    value = settings(session)
    found = []
    if not _is_on(value("spark.io.encryption.enabled")):
        has_properties = getattr(session, "_sc", None) is not None
        found.append(_DISKS if has_properties or with_secret_file else _KEY)
    if not (_is_one_process(value("spark.master")) or _is_network_encrypted(value)):
        found.append(_NETWORK)
    hidden = with_secret_file or (redacted and _is_secret(value("spark.redaction.regex")))
    if _is_on(value("spark.eventLog.enabled")) and not hidden:
        found.append(_EVENTS)
    return found


def settings(session: Any) -> Any:
    """Return the function that gives a setting of the application, or an empty text."""
    context = getattr(session, "_sc", None)
    if context is None:
        # Spark Connect shows the settings of the server among the settings of the session.
        return lambda name: session.conf.get(name, "")
    # Not the settings of the session: somebody may have set these there, where they have no effect.
    given = context.getConf()
    return lambda name: given.get(name, "")


def _is_on(value: str) -> bool:
    return value.strip().lower() == "true"


def _is_one_process(master: str) -> bool:
    return re.fullmatch(r"local(\[.*\])?", master) is not None


def _is_network_encrypted(value: Any) -> bool:
    if _is_on(value("spark.ssl.rpc.enabled")):
        return True
    ciphers = "spark.network.crypto.enabled", "spark.authenticate.enableSaslEncryption"
    return _is_on(value("spark.authenticate")) and any(_is_on(value(name)) for name in ciphers)


def _is_secret(pattern: str) -> bool:
    """Whether Spark redacts the setting by its name. Unknown patterns do not."""
    if not pattern:
        return True
    with suppress(re.error):
        return re.search(pattern, SETTING) is not None
    return False
