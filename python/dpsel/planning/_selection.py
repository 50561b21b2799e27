"""Plans of a selection: thresholds, and how many users an item needs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core_calls
from dpsel._arguments import as_int, at_least_one, elements, several
from dpsel._plot import Curve, draw
from dpsel._request import request_of_selection
from dpsel._tables import Display, Tabular
from dpsel.accounting import Quantile, checked_privacy
from dpsel.mechanisms._base import item_bound, planned
from dpsel.mechanisms._matching_or import SHORT, MatchingOr
from dpsel.planning._holders import Holders
from dpsel.release._look import look_half_width
from dpsel.release._wording import counted_column, quantity, readable

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from dpsel._request import Request
    from dpsel.accounting import Counts, Privacy, Rest
    from dpsel.mechanisms import SelectionMechanism

__all__ = ["Plan", "plan"]

_KEEP: Final = (0.50, 0.95, 0.99)
_USERS: Final = (10, 20, 50, 100, 200, 500, 1000)
_CURVE_POINTS: Final = 60
_WORST: Final = (
    "worst case: users who hold the item keep as many items as they may. A larger limit often releases more "
    "all the same, since users then keep more of their items: give items_per_user, those of typical users"
)
_TYPICAL: Final = (
    "users who hold the item have as many items as the row says; of more than are kept a random part counts"
)


def plan(
    *,
    privacy: Privacy,
    max_items_per_user: int | Quantile | Sequence[int | Quantile],
    mechanisms: SelectionMechanism | str | Sequence[SelectionMechanism | str] | None = None,
    items_per_user: int | Sequence[int] | None = None,
    users: Sequence[int] = _USERS,
    with_weights: bool = False,
    min_users: int = 1,
    counts: float | Counts | None = None,
    rest: float | Rest | None = None,
) -> Plan:
    """Return thresholds, and the number of users that an item needs for a release, without data.

    The keep probability is the probability of release of an item of a given number of users, each with
    ``items_per_user`` items. With several rounds it is the probability of a release in any of them, if
    nothing else is released before. Real releases are better, because released items leave the users' sets.
    What a noisy look at the data will choose cannot be known: [`MatchingOr`][dpsel.MatchingOr] is planned as
    for long lists.

    Args:
        privacy: The guarantee.
        max_items_per_user: One limit, or several to compare. A [`Quantile`][dpsel.Quantile] has one row for
            each limit that it can find, with what it leaves of the budget.
        mechanisms: One or several; ``"auto"`` by default.
        items_per_user: Items that each holder of the item has, or several to compare, such as those of a
            typical user and of one with a long list. By default as many as users keep at most, the worst
            case: the limit, or with [`Steered`][dpsel.Steered] ``reach`` times the limit. Of more items
            than that users keep a random choice, which is reckoned with.
        users: Numbers of users for which the keep probability is given.
        with_weights: Plan calls with ``with_weights=True``: what ``"auto"`` then chooses, and its threshold.
            Mechanisms without noise are refused.
        min_users: Plan calls with this ``min_users=``, the least number of users of a released item.
        counts: Plan calls with these ``counts=``: what they leave to the selection, and their noise.
        rest: Plan calls with this ``rest=``, in the same way.

    Returns:
        One row for each limit, mechanism and number of items per user.

    Raises:
        InvalidParameterError: If an argument is out of range, or a mechanism has no such guarantee.
        CalibrationError: If no noise and threshold meet the guarantee.

    Examples:
        >>> import dpsel
        >>> plan = dpsel.plan(privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-8), max_items_per_user=[10, 100])
        >>> plan.rows[0]["users_for_95"] < plan.rows[1]["users_for_95"]
        True

        The price of a reach, in users of as many items as they may keep:

        >>> arguments = {"privacy": dpsel.ApproxDP(epsilon=1.0, delta=1e-8), "max_items_per_user": 5}
        >>> for mechanism in (dpsel.Steered(), dpsel.Steered(reach=3)):
        ...     row = dpsel.plan(mechanisms=mechanism, **arguments).rows[0]
        ...     print(row["items_per_user"], row["users_for_95"])
        5 92
        15 163
    """
    privacy = checked_privacy(privacy)
    limits = several(max_items_per_user)
    shown = [at_least_one("users", number) for number in elements("users", users)]
    typical = None if items_per_user is None else several(items_per_user)
    lengths = [None if each is None else at_least_one("items_per_user", each) for each in typical or [None]]
    requests = [
        asked
        for limit in limits
        for mechanism in several("auto" if mechanisms is None else mechanisms)
        for asked in _asked(
            request_of_selection(
                privacy,
                limit,
                mechanism,
                with_weights=with_weights,
                min_users=min_users,
                counts=counts,
                rest=rest,
            ),
            limit,
        )
    ]
    rows = [_row(each, length, shown) for each in requests for length in lengths]
    return Plan(privacy=privacy, users=tuple(shown), _rows=tuple(rows), typical=typical is not None)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request with a limit that is a number, and what was spent to find the limit."""

    limit: int
    mechanism: SelectionMechanism
    json: str
    look: dict[str, float]


def _asked(request: Request[SelectionMechanism], given: int | Quantile) -> list[_Asked]:
    """Return the request, or one for each limit that a look at the data can find."""
    if not isinstance(given, Quantile):
        return [_Asked(as_int("max_items_per_user", given), request.mechanism, request.json, {})]
    limits, epsilon, rest = _core_calls.possible_limits(request.json)
    look = {"look_epsilon": epsilon, "look_half_width": look_half_width(epsilon)}
    fields = json.loads(request.json)
    fields.pop("quantile")
    fields["privacy"] = json.loads(rest)
    return [
        _Asked(limit, request.mechanism, json.dumps(fields | {"max_items_per_user": limit}), look)
        for limit in limits
    ]


@dataclass(frozen=True, slots=True, repr=False)
class Plan(Tabular):
    """What [`plan`][dpsel.plan] found: one row for each limit, mechanism and number of items per user.

    Args:
        privacy: The guarantee.
        users: The numbers of users with a keep probability in each row.
        typical: Whether the items per user were given; otherwise the rows are about the worst case.

    Examples:
        >>> import dpsel
        >>> plan = dpsel.plan(
        ...     privacy=dpsel.ZCDP(rho=0.1, delta=1e-5),
        ...     max_items_per_user=100,
        ...     mechanisms=dpsel.WeightedGaussian(),
        ...     users=[100],
        ... )
        >>> 10 < plan.rows[0]["threshold"] < 12
        True
    """

    privacy: Privacy
    users: tuple[int, ...]
    _rows: tuple[dict[str, Any], ...]
    typical: bool = False

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict per row.

        ``mechanism``, ``max_items_per_user``, ``items_per_user``, ``items_kept`` (of these), ``scale`` and
        ``threshold`` (of the last round, in units of weight; a release curve has no scale, and its threshold
        is the weight of even odds), ``rounds`` (all of them), ``keep`` (number of users -> probability), and
        ``users_for_50``, ``users_for_95``, ``users_for_99``: the least number of users for that probability.
        With ``counts=`` also ``counts_scale`` and ``counts_half_width``: the standard deviation of the noise
        of the column ``users`` or ``rows``, and the half-width of an interval that holds one number with 95
        %. With ``rest=`` the same of ``rest_users`` and ``rest_rows``. With a [`Quantile`][dpsel.Quantile]
        also ``look_epsilon`` and ``look_half_width``: the epsilon of the noisy numbers from which the limit
        follows, and the same half-width for one of them.
        """
        return self._copies()

    def to_json(self) -> str:
        """Return the rows as JSON text."""
        return json.dumps({"privacy": self.privacy.to_json(), "rows": self._rows}, indent=2)

    def _display(self) -> Display:
        looking = [row for row in self._rows if "look_epsilon" in row]
        looks = dict.fromkeys((row["look_epsilon"], row["look_half_width"]) for row in looking)
        lines = [
            f"a noisy look that costs {100 * share:.3g} % of epsilon takes {SHORT!r} where lists are short; "
            "the table is for others"
            for share in self._shares()
        ]
        lines.append(_TYPICAL if self.typical else _WORST)
        lines += [
            f"to find the limit costs epsilon = {epsilon:.4g}; the noisy numbers of users of each size are "
            f"within {half_width:,} with 95 %"
            for epsilon, half_width in looks
        ]
        head, body = self._table()
        return Display(head=head, rows=body, below=lines)

    def _shares(self) -> dict[float, None]:
        """Return the parts of epsilon of looks that choose a mechanism, each once."""
        mechanisms = (json.loads(row["request"])["mechanism"] for row in self._rows)
        return dict.fromkeys(each["share"] for each in mechanisms if each["name"] == MatchingOr.name)

    def plot(self, path: str | os.PathLike[str] | None = None, *, ax: Any = None) -> Any:
        """Draw the keep probability against the number of users.

        Args:
            path: Save the figure here; the extension says the format.
            ax: Draw into these matplotlib axes instead of new ones.

        Returns:
            The matplotlib axes.

        Raises:
            ImportError: If matplotlib is not installed (``pip install 'dpsel[plot]'``).
        """
        curves = (
            Curve(
                *self.keep_curve(index),
                f"{row['mechanism']}, at most {quantity(row['max_items_per_user'], 'item')}"
                + (f", users of {row['items_per_user']:,}" if self.typical else ""),
            )
            for index, row in enumerate(self._rows)
        )
        labels = "users who hold the item", "probability that it is released"
        return draw(curves, labels=labels, limits=(-0.02, 1.02), path=path, ax=ax)

    def keep_curve(self, row: int) -> tuple[list[int], list[float]]:
        """Return numbers of users, and keep probabilities, of one row, for a smooth curve.

        Args:
            row: Its position in [`rows`][dpsel.Plan.rows].

        Returns:
            Two lists of the same length.
        """
        chosen = self._rows[row]
        top = max(2, 2 * (chosen["users_for_99"] or max(self.users)))
        step = max(1, top // _CURVE_POINTS)
        users = list(range(1, top + step, step))
        holders = Holders(chosen["request"], chosen["items_per_user"], chosen["items_kept"])
        return users, holders.keep(users)

    def _flat(self) -> list[dict[str, Any]]:
        return [
            {key: value for key, value in row.items() if key not in {"keep", "rounds", "request"}}
            | {f"keep_{number}": value for number, value in row["keep"].items()}
            for row in self._rows
        ]

    def _table(self) -> tuple[list[str], list[list[str]]]:
        head = ["mechanism", "max items", *(["items per user"] if self.typical else []), "scale", "threshold"]
        head += [f"users for {keep:.0%}" for keep in _KEEP]
        head += [f"keep at {number:,}" for number in self.users]
        named = {
            "counts_half_width": counted_column(json.loads(self._rows[0]["request"])),
            "rest_users_half_width": "rest users",
            "rest_rows_half_width": "rest rows",
        }
        noise = [name for name in named if name in self._rows[0]]
        head += [f"{named[name]} +-" for name in noise]
        body = [
            [
                row["mechanism"],
                f"{row['max_items_per_user']:,}",
                *([f"{row['items_per_user']:,}"] if self.typical else []),
                "-" if row["scale"] is None else f"{row['scale']:.4g}",
                f"{row['threshold']:.4g}",
                *(_thousands(row[f"users_for_{keep * 100:.0f}"]) for keep in _KEEP),
                *(f"{row['keep'][str(number)]:.3g}" for number in self.users),
                *(f"{row[name]:.4g}" for name in noise),
            ]
            for row in self._rows
        ]
        return head, body


def _row(request: _Asked, asked: int | None, users: list[int]) -> dict[str, Any]:
    most = item_bound(planned(request.mechanism), request.limit)
    held = most if asked is None else asked
    kept = min(held, most)
    calibration = _core_calls.calibrate(request.json)
    rounds = [readable(each) for each in calibration["rounds"]]
    of_rest = calibration.get("rest", {})
    numbers = {"counts": calibration.get("counts")} | {
        f"rest_{kind}": of_rest.get(kind) for kind in ("users", "rows")
    }
    noise = {
        f"{name}_{key}": value
        for name, scales in numbers.items()
        if scales is not None
        for key, value in (("scale", scales["noise"]["sigma"]), ("half_width", scales["half_width"]))
    }
    holders = Holders(request.json, held, kept)
    probabilities, needed = holders.keep(users), holders.needed(_KEEP)
    return {
        "mechanism": repr(request.mechanism),
        "max_items_per_user": request.limit,
        "items_per_user": held,
        "items_kept": kept,
        "scale": rounds[-1]["scale"],
        "threshold": rounds[-1]["threshold"],
        **noise,
        **request.look,
        **{f"users_for_{keep * 100:.0f}": number for keep, number in zip(_KEEP, needed, strict=True)},
        "keep": {str(number): probability for number, probability in zip(users, probabilities, strict=True)},
        "request": request.json,
        # Last: they are long, and all else would be below them in the JSON.
        "rounds": rounds,
    }


def users_for(request: str, items_per_user: int, probability: float = 0.95) -> int | None:
    """Return the users, each of so many items, that an item needs to come out with this probability."""
    return _core_calls.users_needed(request, items_per_user, [probability])[0]


def _thousands(number: int | None) -> str:
    return "more than 2^32" if number is None else f"{number:,}"
