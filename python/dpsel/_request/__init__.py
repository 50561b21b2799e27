"""Requests: the arguments of a call, checked, as the core reads them.

``_task_requests.py`` writes requests with a given mechanism. ``_auto.py`` and ``_auto_top_k.py`` choose one,
unless ``_given.py`` finds that one was named.
``_selection.py`` and ``_top_k.py`` take the arguments of the public functions.
"""

from dpsel._request._columns import NamedColumns, columns_of, lengths_of, ngrams_of
from dpsel._request._lists import public_lists
from dpsel._request._request import Request
from dpsel._request._selection import checked_limit, count_request, request_of_selection
from dpsel._request._task_requests import priced, selection_request, top_k_request
from dpsel._request._top_k import as_list, request_of_rows

__all__ = [
    "NamedColumns",
    "Request",
    "as_list",
    "checked_limit",
    "columns_of",
    "count_request",
    "lengths_of",
    "ngrams_of",
    "priced",
    "public_lists",
    "request_of_rows",
    "request_of_selection",
    "selection_request",
    "top_k_request",
]
