"""The release card: one page to publish, with public parameters and the noisy numbers of a look."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dpsel import _core_calls
from dpsel._tables import one_line
from dpsel.accounting import ApproxDP, for_group
from dpsel.exceptions import DpselError, FileError
from dpsel.mechanisms._base import class_name
from dpsel.outputs import checked_output
from dpsel.release._look import limit_within
from dpsel.release._rest import rest_lines
from dpsel.release._wording import (
    chosen_mechanism,
    describe_limit,
    describe_mechanism,
    found_lists,
    items_kept,
    mechanism_as_code,
    notation,
    quantity,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from dpsel.accounting import Privacy
    from dpsel.release._report import Report

__all__ = ["Card", "belief", "figure_of", "groups", "guarantee", "page", "part_of_page", "save_page", "table"]

#: Beliefs before the release, for which the figure shows the beliefs after it.
_PRIORS: Final = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
_GROUPS: Final = (2, 3, 5, 10)
#: The exponential function of a float has no larger argument, about.
_HUGE: Final = 700.0
_STYLE: Final = (
    "body{font:16px/1.55 Georgia,serif;max-width:44em;margin:2em auto;padding:0 1em;color:#111}"
    "h1{font-size:1.5em;margin-bottom:.2em}h2{font-size:1.1em;margin:1.4em 0 .3em}"
    "table{border-collapse:collapse}td,th{padding:.2em .9em .2em 0;text-align:left;vertical-align:top}"
    "td{overflow-wrap:anywhere}"
    ".warning{border:3px solid #000;padding:.6em;font-weight:bold}"
    "code{font-size:.85em;overflow-wrap:anywhere}@media print{body{margin:0}}"
)


@dataclass(frozen=True, slots=True)
class Card:
    """A page that says in words what a release protects.

    It needs no other file, and prints in black and white.

    Everything on it follows from the report: parameters, the theorem, and what they mean for one user. Of
    a release it also has the number of items.

    Args:
        report: The report of the release.
        items: The number of released items, if it is to be shown.

    Examples:
        >>> import dpsel
        >>> release = dpsel.select_partitions(
        ...     [(user, "tea") for user in range(500)],
        ...     privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        ...     max_items_per_user=1,
        ... )
        >>> card = release.card()
        >>> "changes the probability of any result by at most a factor of 2.72" in card.to_html()
        True
        >>> card.to_svg().startswith("<svg")
        True
    """

    report: Report
    items: int | None = None

    def to_html(self) -> str:
        """Return the page."""
        return page("Release card", "How this list was protected", self._sections())

    def to_svg(self) -> str:
        """Return the figure alone: how far the release can move a belief about one user."""
        return figure_of(self._epsilon())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file ``.html``, or the figure to a file ``.svg``.

        Raises:
            FileError: If the extension is another one, or the file cannot be written.
        """
        save_page(path, self.to_html(), self.to_svg())

    def _repr_html_(self) -> str:
        return part_of_page(self._sections())

    def _epsilon(self) -> float:
        return for_group(self.report.cost.total, 1).epsilon

    def _sections(self) -> list[tuple[str, str]]:
        if not self.report.has_guarantee or self.report.is_insecure:
            why = (
                "it was made with a test key" if self.report.is_insecure else "its mechanism has no guarantee"
            )
            return [("Not private", f'<p class="warning">This list is NOT PRIVATE: {why}.</p>')]
        return [
            ("What is protected", self._protected()),
            ("The guarantee", guarantee(self.report.cost.total)),
            ("What one user could change", belief(self.report.cost.total)),
            ("Several users together", groups(self.report.cost.total)),
            ("How it was made", self._made()),
            ("What it does not say", self._limits()),
        ]

    def _protected(self) -> str:
        request = self.report["request"]
        neighbours = {
            "add_remove": "is in the data at all, with all rows",
            "swap": "has these rows or those of somebody else",
            "any": "changed each count by at most the stated amount",
        }[request.get("neighbours", "add_remove")]
        columns = request.get("columns")
        named = "user" if columns is None else columns["user"]
        user = named if isinstance(named, str) else " and ".join(named)
        listed = "" if self.items is None else f"The list has {quantity(self.items, 'item')}. "
        return (
            f"<p>{listed}Nobody can tell from the list whether any one <b>{html.escape(one_line(user))}</b> "
            f"{neighbours}, beyond what the next section allows. Everything that the list was made from is "
            "covered: each item that this user holds, alone or with others. Whoever stands behind several of "
            "these users is protected as they are together.</p>"
        )

    def _made(self) -> str:
        report, request = self.report, self.report["request"]
        lines = [("Mechanism", describe_mechanism(report))]
        if (quantile := request.get("quantile")) is not None:
            found = f"{report.limit:,} items, a noisy {quantile['quantile']:g} quantile of what users have"
            lines.append(
                ("Limit", f"{found}; {limit_within(report).removeprefix('limit: ')}; in the same guarantee")
            )
        elif "look" in report:
            ran = mechanism_as_code(chosen_mechanism(report))
            lines.append(("After its noisy look", f"{ran}: {found_lists(report)}"))
        if (kept := items_kept(report)) is not None:
            apart = (
                " in what comes out; numbers have a limit of their own" if report.counts is not None else ""
            )
            lines.append(("Items per user", f"at most {kept:,} count{apart}"))
        if (least := request.get("min_users")) is not None:
            apart = ", public ones apart" if "public_items" in request else ""
            lines.append(("Users per item", f"never fewer than {least:,}{apart}"))
        for name, text in (("public_items", "Come out anyway"), ("exclude", "Left out")):
            if (listed := request.get(name)) is not None:
                lines.append((text, f"{quantity(listed['items'], 'item')} of a public list"))
        if (counts := report.counts) is not None:
            told = f"noise of standard deviation {counts['scale']:.4g}, within {counts['half_width']:.4g}"
            told += f" with 95 %; {describe_limit(counts)}; in the same guarantee"
            lines.append((f"Numbers of {counts['count']}", told))
            lines.append(("Theorem of the numbers", report["guarantee"]["counts"]))
        for line in rest_lines(report):
            told = line.removeprefix("coverage: ")
            lines.append(("Coverage", f"{told}; intervals of 95 % for the noise, in the same guarantee"))
            lines.append(("Theorem of the coverage", report["guarantee"]["rest"]))
        lines += [
            ("Theorem", report["guarantee"]["statement"]),
            ("Source", report["guarantee"]["source"]),
            ("Made with", f"dpsel {report['version']}, {class_name(request['mechanism']['name'])}"),
            ("Report", report["fingerprint"]),
        ]
        return table(lines)

    def _limits(self) -> str:
        return (
            "<p>The costs of all releases about the same users add up, and this card is about one. It says "
            "nothing about what many users have in common: that a habit is frequent can be seen, and "
            "applies to those who are not in the data too. The report has all numbers, and "
            "<code>dpsel check</code> derives them again.</p>"
        )


def page(title: str, head: str, sections: list[tuple[str, str]]) -> str:
    """Return a page that needs no other file; sections without a body are left out."""
    shown = "".join(f"<h2>{html.escape(title)}</h2>{body}" for title, body in sections if body)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{head}</h1>{shown}</body></html>\n"
    )


def part_of_page(sections: list[tuple[str, str]]) -> str:
    """Return the sections as notebooks show them."""
    body = "".join(f"<h3>{html.escape(title)}</h3>{body}" for title, body in sections if body)
    return f'<div style="overflow-wrap:anywhere">{body}</div>'


def save_page(path: str | os.PathLike[str], whole: str, figure: str) -> None:
    """Write a page to a file ``.html``, or its figure to a file ``.svg``."""
    import os

    name = os.fspath(path)
    if not name.endswith((".html", ".htm", ".svg")):
        raise FileError(f"cannot write {name}: a card is a file .html, and its figure a file .svg")
    _core_calls.write_text(checked_output(path), figure if name.endswith(".svg") else whole)


def guarantee(total: Privacy, who: str = "One user") -> str:
    """Return what a budget promises, in words."""
    stated = for_group(total, 1)
    factor = f"{math.exp(stated.epsilon):,.3g}" if stated.epsilon < _HUGE else "more than 10^300"
    told = notation(total.to_json())
    converted = "" if told == notation(stated.to_json()) else f", which gives {notation(stated.to_json())}"
    beside = ""
    if isinstance(stated, ApproxDP):
        odds = f"1 in {1 / stated.delta:,.0f}" if stated.delta < 1 else "1"
        beside = (
            f" Apart from that, something may happen with a probability of {stated.delta:.3g} ({odds}) "
            "for which nothing is promised."
        )
    return (
        f"<p><b>{html.escape(told)}</b>{html.escape(converted)}. {who} changes the probability of "
        f"any result by at most a factor of {factor}.{beside}</p>"
    )


def belief(total: Privacy) -> str:
    """Return what a budget does to a belief, with a figure."""
    epsilon = for_group(total, 1).epsilon
    low, high = map(_percent, _after(0.5, epsilon))
    return (
        "<p>Suppose that somebody who knows all other rows believes with 50 % that a certain user is "
        f"in the data. After seeing the list that belief is between {low} and {high}. The figure "
        f"has other beliefs.</p>{figure_of(epsilon)}"
    )


def groups(total: Privacy) -> str:
    """Return what a budget promises to several users together."""
    rows = []
    for users in _GROUPS:
        try:
            group = for_group(total, users)
        except DpselError:
            break
        rows.append(f"<tr><td>any {users} users</td><td>{html.escape(notation(group.to_json()))}</td></tr>")
    return f"<table>{''.join(rows)}</table>" if rows else "<p>Nothing is promised for two or more.</p>"


def table(lines: Iterable[tuple[str, object]]) -> str:
    """Return names and what they are; names stay whole, where numbers as long as a digest are broken."""
    head = '<th style="overflow-wrap:normal;text-align:left;vertical-align:top">'
    rows = "".join(
        f"<tr>{head}{html.escape(one_line(name))}</th><td>{html.escape(one_line(str(text)))}</td></tr>"
        for name, text in lines
    )
    return f"<table>{rows}</table>"


def _after(prior: float, epsilon: float) -> tuple[float, float]:
    """Return the bounds of a belief after the release: its odds change by at most a factor of e^epsilon."""
    factor = math.exp(-min(epsilon, _HUGE))
    return prior * factor / (prior * factor + 1 - prior), prior / (prior + (1 - prior) * factor)


def _percent(belief: float) -> str:
    return f"{100 * belief:.0f} %"


_LEFT, _TOP, _WIDTH, _STEP = 130, 46, 460, 34


def figure_of(epsilon: float) -> str:
    """Draw the range of beliefs after the release, for several beliefs before it."""
    height = _TOP + _STEP * len(_PRIORS) + 50
    parts = [_axis(height)]
    for row, prior in enumerate(_PRIORS):
        low, high = (_LEFT + _WIDTH * belief for belief in _after(prior, epsilon))
        y = _TOP + _STEP * row + _STEP / 2
        at = _LEFT + _WIDTH * prior
        parts.append(
            f'<text x="{_LEFT - 12}" y="{y + 5:g}" text-anchor="end">{_percent(prior)}</text>'
            f'<rect x="{low:.1f}" y="{y - 8:g}" width="{high - low:.1f}" height="16" fill="#bbb" '
            f'stroke="#000"/><line x1="{at:.1f}" y1="{y - 11:g}" x2="{at:.1f}" y2="{y + 11:g}" '
            'stroke="#000" stroke-width="3"/>'
        )
    title = f"Beliefs about one user, before and after the release, at epsilon = {epsilon:.4g}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 40} {height}" '
        f'width="{_LEFT + _WIDTH + 40}" height="{height}" style="max-width:100%;height:auto" '
        'role="img" font-family="sans-serif" font-size="14">'
        f"<title>{title}</title>"
        f'<text x="{_LEFT - 12}" y="24" text-anchor="end">before</text>'
        f'<text x="{_LEFT}" y="24">after: somewhere in the bar</text>{"".join(parts)}</svg>'
    )


def _axis(height: int) -> str:
    ticks = []
    for tick in range(0, 101, 25):
        x, bottom = _LEFT + _WIDTH * tick / 100, height - 44
        ticks.append(
            f'<line x1="{x:g}" y1="{_TOP}" x2="{x:g}" y2="{bottom}" stroke="#ccc"/>'
            f'<text x="{x:g}" y="{bottom + 20}" text-anchor="middle">{tick} %</text>'
        )
    middle = _LEFT + _WIDTH / 2
    label = "belief that the user is in the data"
    return f'{"".join(ticks)}<text x="{middle:g}" y="{height - 6}" text-anchor="middle">{label}</text>'
