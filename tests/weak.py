"""For tests that draw with a fresh key under a guarantee so weak that something comes out of a few rows."""

from __future__ import annotations

import pytest

#: On a test or as `pytestmark`: it uses parameters that users are warned of, and knows it.
WEAK = pytest.mark.filterwarnings("ignore:this guarantee protects hardly anybody")
