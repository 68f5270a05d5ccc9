"""A Chromium for the tests: the system's, Debian's, or Playwright's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """The path of a Chromium that is there, or None."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if os.path.exists(path) else None


def install() -> None:
    """Install one if there is none, or raise SystemExit with what to do."""
    if path := find():
        print(f"Chromium: {path}")
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print("Installing Debian's chromium and a Chinese font …", flush=True)
        packages = ["chromium", "fonts-noto-cjk"]
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        subprocess.run(command, check=False, env=environment, stdout=subprocess.DEVNULL)
    else:
        print("Installing Playwright's chromium …", flush=True)
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)
    if not find():
        raise SystemExit(
            "The browser tests need Chromium and none could be installed.\n"
            "Install it (Debian: apt-get install chromium fonts-noto-cjk), then try again."
        )


if __name__ == "__main__":
    install()
