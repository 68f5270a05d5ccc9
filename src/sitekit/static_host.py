"""A folder served on loopback as a static host would: compressed, cacheable, with a 404 page."""

from __future__ import annotations

import functools
import gzip
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CACHE = "max-age=600"
_TEXT = (".html", ".css", ".js", ".json", ".svg", ".xml")


class _Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps a connection for the next request
    disable_nagle_algorithm = True  # or a body would wait for its headers to be acknowledged

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if path.is_file():
            self._answer(200, path)
        elif (missing := Path(self.directory, "404.html")).is_file():
            self._answer(404, missing)
        else:
            self.send_error(404)

    def _answer(self, status: int, path: Path) -> None:
        body = path.read_bytes()
        self.send_response(status)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Cache-Control", CACHE)
        if path.suffix in _TEXT:
            body = gzip.compress(body, 6, mtime=0)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address at which the folder is served; what is put into it later is served too."""
    handler = functools.partial(_Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
