"""Pages of the built site in headless Chromium: light and dark, at the width of a desk and of a phone.

    python website/screenshots.py            into target/screenshots
    python website/screenshots.py --every    every page of the site, not only those that have most in them
    python website/screenshots.py FOLDER

It also looks at a ledger, a card and the results of a notebook. It fails if a page is wider than its window,
lacks a picture, or asks for anything outside of the site, and if a table of ledger or card is cut off.
Needs Chromium (`CHROMIUM` names it) or Google Chrome.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import results

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "target" / "site"
PAGES = (
    "", "learn/tutorial/", "understand/questions/", "understand/steered/", "compare/",
    "understand/partition-selection/", "learn/limits/",
    "algorithms/steered/", "reference/functions/", "guide/choosing-parameters/", "reference/commands/",
    "accuracy/", "project/security/", "guide/counts/", "guide/sources/", "learn/larger-than-memory/",
    "algorithms/counts/", "algorithms/matching_or/", "guide/audit/", "guide/auditing-your-library/",
    "hand-over/", "hand-over/opendp/", "hand-over/pipelinedp/", "hand-over/scikit-learn/",
    "hand-over/hugging-face/",
)  # fmt: skip
RESULTS = ("results/ledger.html", "results/card.html", "results/notebook/")
WINDOWS = {"desk": (1366, 2400), "phone": (390, 2400)}
#: How long a page may take to be drawn, in milliseconds of its own clock.
PATIENCE = 4000
#: Browsers at a time: each one mostly waits.
PROCESSES = 4


class Silent(http.server.SimpleHTTPRequestHandler):
    """Serves the site, and a frame of the width of a phone: Chromium's own window is never that narrow."""

    def __init__(self, *arguments: Any, results: str, **options: Any) -> None:
        """Take the folder of the pages below `/results/`."""
        self.results = results
        super().__init__(*arguments, **options)

    def translate_path(self, path: str) -> str:
        """Return the file of an address."""
        below = path.removeprefix("/results/")
        return super().translate_path(path) if below == path else f"{self.results}/{below}"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Serve a page, or `/frame/WIDTH/HEIGHT/SCHEME/page`."""
        if not (found := re.match(r"/frame/(\d+)/(\d+)/(\w+)/(.*)", self.path)):
            return super().do_GET()
        width, height, scheme, page = found.groups()
        body = FRAME.format(width=width, height=height, scheme=scheme, page=page).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(body)
        return None


#: Sets the colours, waits for the page, and writes into the title what is wrong with it.
FRAME = """<!doctype html><meta charset="utf-8"><title>waiting</title><style>*{{margin:0;border:0}}</style>
<iframe id="page" width="{width}" height="{height}"></iframe><script>
const index = {{light: 0, dark: 1}}["{scheme}"], color = index ? {{scheme: "slate", primary: "indigo"}} :
  {{scheme: "default", primary: "indigo"}};
localStorage.setItem("/.__palette", JSON.stringify({{index, color}}));
const frame = document.getElementById("page"), wrong = [];
frame.src = "/{page}";
frame.onload = () => setTimeout(() => {{
  const inside = frame.contentDocument.documentElement;
  if (inside.scrollWidth > {width}) {{
    const scrolls = each => each &&
      (/auto|scroll/.test(getComputedStyle(each).overflowX) || scrolls(each.parentElement));
    const wide = [...inside.querySelectorAll("article *")].find(each =>
      each.getBoundingClientRect().right > {width} && !scrolls(each));
    wrong.push("is " + inside.scrollWidth + " pixels wide: " + (wide ? wide.textContent : "unknown"));
  }}
  const isWhole = each => each.scrollWidth <= each.clientWidth;
  if (frame.src.endsWith(".html") && ![...inside.querySelectorAll("div")].every(isWhole))
    wrong.push("has a table that is cut off");
  for (const each of frame.contentWindow.performance.getEntriesByType("resource"))
    if (new URL(each.name).origin !== location.origin) wrong.push("asks for " + each.name);
  for (const image of frame.contentDocument.images)
    if (image.complete && !image.naturalWidth) wrong.push("lacks " + image.src);
  document.title = wrong.length ? wrong.join("; ") : "fine";
}}, 500);
</script>"""


def browser() -> str:
    """The browser to use."""
    names = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome", "chrome")
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    if found is None:
        sys.exit("needs Chromium or Google Chrome; CHROMIUM=/path/to/it names one")
    return found


def main() -> int:
    """Draw pages in every window; 1 if something is wrong with one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "target" / "screenshots")
    parser.add_argument("--every", action="store_true", help="every page of the site")
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    made = tempfile.TemporaryDirectory()
    results.write_pages(Path(made.name))
    handler = functools.partial(Silent, directory=SITE, results=made.name)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    wrong = 0
    with ThreadPoolExecutor(PROCESSES) as pool:
        for picture, said in pool.map(lambda each: looked_at(address, folder, *each), views(arguments.every)):
            if said != "fine":
                wrong += 1
                print(f"{picture}: {said}")
    made.cleanup()
    print(f"{len(list(folder.glob('*.png')))} pictures in {folder}")
    return 1 if wrong else 0


def views(every: bool) -> list[tuple[str, str, str]]:  # noqa: FBT001 - its one argument
    """The pages with a window and colours."""
    there = sorted(f"{each.parent.relative_to(SITE)}/" for each in SITE.rglob("index.html"))
    return [
        (page, window, scheme)
        for page in dict.fromkeys((*PAGES, *RESULTS, *(page for page in there if every and page != "./")))
        for window in WINDOWS
        for scheme in (("light", "dark") if page in PAGES[:5] else ("light",))
    ]


def looked_at(address: str, folder: Path, page: str, window: str, scheme: str) -> tuple[str, str]:
    """Draw one view; its name, and what the frame says of it."""
    width, height = WINDOWS[window]
    picture = folder / f"{page.strip('/').replace('/', '-') or 'home'}-{window}-{scheme}.png"
    url = f"{address}/frame/{width}/{height}/{scheme}/{page}"
    return picture.stem, drawn(url, picture, (width, height))


def drawn(url: str, picture: Path, window: tuple[int, int]) -> str:
    """Draw a page; what the frame says of it."""
    with tempfile.TemporaryDirectory() as profile:
        command = [
            browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            f"--user-data-dir={profile}", f"--window-size={window[0]},{window[1]}",
            f"--virtual-time-budget={PATIENCE}",
        ]  # fmt: skip
        done = subprocess.run(
            [*command, f"--screenshot={picture}", "--dump-dom", url],
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
    title = re.search(r"<title>(.*?)</title>", done.stdout)
    return title[1] if title else f"was not drawn (exit code {done.returncode})"


if __name__ == "__main__":
    sys.exit(main())
