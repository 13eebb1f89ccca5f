"""Pictures of pages of the site that ``make docs`` built: wide, on a telephone, and in the dark; to be looked at.

Usage: ``python tools/site_pictures.py [PAGE ...]``, with pages such as ``files`` or ``reports/native``. Chromium takes
them, ``chromium`` of the path or what ``CHROMIUM`` names; they are written to ``out/site/pictures``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

BUILT: Final = Path(__file__).resolve().parents[1] / "out" / "site"
PAGES: Final = (
    "index", "first-hour", "gallery", "catalogue", "exchange", "files", "program", "architecture", "reports/native",
    "reports/round-trips", "differences", "api/tensor_linalg.decompositions.svd",
)  # fmt: skip
DARK: Final = "--blink-settings=preferredColorScheme=0"
WAYS: Final = {
    "wide": ("--window-size=1400,1400",),
    "wider": ("--window-size=1800,1400",),
    "narrow": ("--window-size=390,1600",),
    "dark": ("--window-size=1400,1400", DARK),
}


def command(browser: str, page: str, way: str, /) -> list[str]:
    """What takes one picture.

    >>> command("chromium", "reports/native", "dark")[-2].split("/")[-1]
    '--screenshot=reports-native-dark.png'
    """
    picture = f"{page.replace('/', '-')}-{way}.png"
    address = (BUILT / "html" / f"{page}.html").as_uri()
    quiet = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
    return [browser, *quiet, *WAYS[way], f"--screenshot={picture}", address]


def main(pages: Sequence[str]) -> int:
    """Take every picture; 2 where there is no browser or no page."""
    browser = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    missing = [page for page in pages if not (BUILT / "html" / f"{page}.html").is_file()]
    if browser is None or missing:
        print("no chromium: set CHROMIUM" if browser is None else f"no page {', '.join(missing)}: run make docs first")
        return 2
    folder = BUILT / "pictures"
    folder.mkdir(exist_ok=True)
    for page in pages:
        for way in WAYS:
            subprocess.run(command(browser, page, way), cwd=folder, check=True, capture_output=True, timeout=120)
    print(f"{len(pages) * len(WAYS)} pictures in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or PAGES))
