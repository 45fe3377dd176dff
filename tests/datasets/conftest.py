"""A small data set and a server of files on this machine."""

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from kedge.datasets.catalogue import Dataset, Home, PublicFile
from kedge.datasets.content import Content, digest_content

N_ROWS, WIDTH, N_CLUSTERS = 20_000, 6, 4
FILE_NAME = "small.data"


@dataclass
class FileServer:
    """What the server offers, how it behaves, and what it was asked."""

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    cut_after: int | None = None
    honours_range: bool = True
    range_shift: int = 0
    gate: threading.Event | None = None


def make_handler(state):
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def do_GET(self):
            name, wanted = self.path.lstrip("/"), self.headers.get("Range")
            state.requests.append((name, wanted))
            if state.gate is not None:
                assert state.gate.wait(60)
            if name not in state.files:
                return self.send_error(404)
            body = state.files[name]
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and state.honours_range else 0
            if start and start >= len(body):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                return self.end_headers()
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start + state.range_shift}-{len(body) - 1}/{len(body)}")
            self.send_header("Content-Length", str(len(body) - start))
            self.end_headers()
            end, state.cut_after = state.cut_after, None
            self.wfile.write(body[start:end])

    return Handler


@pytest.fixture
def server():
    """Serve files on the loopback interface; connections can be cut and ranges ignored."""
    state = FileServer("")
    with ThreadingHTTPServer(("127.0.0.1", 0), make_handler(state)) as http:
        state.url = f"http://127.0.0.1:{http.server_port}/"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield state
        http.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def small_rows():
    """Draw whole numbers, and labels from 1."""
    rng = np.random.default_rng(0)
    return rng.integers(0, 1000, (N_ROWS, WIDTH)), np.arange(N_ROWS) % N_CLUSTERS + 1


@pytest.fixture(scope="session")
def small_file(small_rows):
    """Write the same as a table of text, a few hundred kilobytes long."""
    X, y = small_rows
    return "".join(",".join(map(str, row)) + "\n" for row in np.column_stack([X, y]).tolist()).encode()


@pytest.fixture
def small_set(small_rows, server, small_file):
    """Describe a data set whose public home is the server."""
    X, y = small_rows
    server.files[FILE_NAME] = small_file
    return Dataset(
        name="small",
        title="Small",
        status="exact",
        n_rows=N_ROWS,
        widths=(WIDTH,),
        n_clusters=N_CLUSTERS,
        licence="none",
        source="drawn",
        public_home=server.url,
        description="Whole numbers.",
        file_name="Small.npz",
        digest=digest_content(Content((X.astype(np.float32),), y.astype(np.int64) - 1)),
        homes=(Home((PublicFile(FILE_NAME, (server.url + FILE_NAME,)),), "table"),),
    )


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    """Make a machine without data, with no folders and an empty cache, which is returned."""
    monkeypatch.delenv("KEDGE_DATA", raising=False)
    monkeypatch.setattr("kedge.datasets.loading.cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"
