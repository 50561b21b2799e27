"""Whether Spark encrypts what a release sends and stores."""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from typing import Any, Final, Literal, get_args

from dpsel.exceptions import InvalidParameterError, UnencryptedSparkWarning
from dpsel.spark._sharing import RESERVED, SETTING, is_redacted

__all__ = ["Unencrypted", "check_encryption"]

#: What to do where Spark leaves something of a release unencrypted.
Unencrypted = Literal["warn", "refuse", "accept"]

_DISKS: Final = "local disks get digests with exact weights in clear: set spark.io.encryption.enabled"
_NETWORK: Final = (
    "the network sees rows, and both halves of the release key: set spark.authenticate and "
    "spark.network.crypto.enabled (or spark.ssl.rpc.enabled)"
)
_EVENTS: Final = (
    "the event log gets one half of the release key: start Spark with "
    f"--conf {SETTING}={RESERVED}, and let spark.redaction.regex match this name"
)


def check_encryption(session: Any, unencrypted: Unencrypted) -> None:
    """Warn of what the settings of a session leave unencrypted, or refuse it."""
    if unencrypted not in get_args(Unencrypted):
        raise InvalidParameterError(
            "unencrypted must be 'warn', 'refuse' or 'accept'; leave it out to be warned"
        )
    if unencrypted == "accept":
        # The event log is to redact what it can all the same.
        is_redacted(session)
        return
    found = _exposed(session)
    if not found:
        return
    text = "; ".join(found)
    if unencrypted == "refuse":
        raise InvalidParameterError(
            f"Spark leaves parts of a release unencrypted; {text}; or write unencrypted='accept'"
        )
    warnings.warn(
        f"Spark leaves parts of a release unencrypted; {text}; or write unencrypted='accept' if whoever sees "
        "these may see the users' data",
        UnencryptedSparkWarning,
        stacklevel=3,
    )


def _exposed(session: Any) -> list[str]:
    """What others can see."""
    value = _settings(session)
    found = []
    if not _is_on(value("spark.io.encryption.enabled")):
        found.append(_DISKS)
    if not _is_one_process(value("spark.master")) and not _is_network_encrypted(value):
        found.append(_NETWORK)
    if not (is_redacted(session) and _is_secret(value("spark.redaction.regex"))) and _is_on(
        value("spark.eventLog.enabled")
    ):
        found.append(_EVENTS)
    return found


def _settings(session: Any) -> Any:
    """Return the function that gives a setting of the application, or an empty text."""
    context = getattr(session, "_sc", None)
    if context is None:
        # Spark Connect shows the settings of the server in those of the session.
        return lambda name: session.conf.get(name, "")
    # Not those of the session: somebody may have set them there, where they do nothing.
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
