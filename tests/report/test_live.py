"""The report that is served while its campaign runs."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from batsched_py.errors import UsageError
from batsched_py.report.forms import live_server as live
from batsched_py.report.forms.live_server import LiveReport, served
from helpers.made_up_report import RunningCampaign
from helpers.waiting import wait_until


@pytest.fixture(autouse=True)
def _no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "REST", 0.0)
    monkeypatch.setattr(live, "TIMES", 0.0)
    monkeypatch.setattr(live, "LOOK_EVERY", 0.05)


class Client(NamedTuple):
    """Asks the server as a browser does."""

    port: int

    def get(
        self, path: str, host: str | None = None, method: str = "GET"
    ) -> tuple[int, dict[str, str], bytes]:
        connection = HTTPConnection("127.0.0.1", self.port)
        connection.request(method, path, headers={"Host": host} if host else {})
        answer = connection.getresponse()
        whole = answer.status, dict(answer.getheaders()), answer.read()
        connection.close()
        return whole

    def state(self) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(self.get("/state.json")[2])
        return made


def live_report(folder: Path, campaign: type[RunningCampaign] = RunningCampaign) -> LiveReport:
    return LiveReport(lambda: campaign(folder))  # type: ignore[arg-type, return-value]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with served(live_report(tmp_path), 0) as server:
        yield Client(server.server_port)


def until(client: Client, page: int) -> dict[str, Any]:
    def reached() -> dict[str, Any] | None:
        state = client.state()
        return state if state["page"] >= page else None

    state = wait_until(reached)
    assert state is not None
    return state


def test_the_state_follows_the_folder(client: Client, tmp_path: Path) -> None:
    assert until(client, 1)["done"] == 0
    RunningCampaign(tmp_path).end_run(0)
    state = until(client, 2)
    assert (state["done"], state["planned"], state["failed"]) == (1, 4, 0)
    values = [
        {"value": "easy", "done": 1, "planned": 2},
        {"value": "creasy", "done": 0, "planned": 2},
    ]
    assert state["axes"][0] == {"name": "policy", "values": values}
    status, headers, text = client.get("/")
    assert status == 200
    assert headers["Cache-Control"] == "no-store"
    assert b"connect-src &#39;self&#39;" in text
    assert f'"page":{state["page"]}'.encode() in text


def test_no_page_is_made_if_nothing_changed(tmp_path: Path) -> None:
    looks: list[Path] = []

    class Looked(RunningCampaign):
        def __init__(self, out: Path) -> None:
            looks.append(out)
            super().__init__(out)

    with served(live_report(tmp_path, Looked), 0) as server:
        client = Client(server.server_port)
        first, enough = until(client, 1), len(looks) + 10
        wait_until(lambda: len(looks) > enough)
        assert client.state() == first


def test_no_file_is_served(client: Client) -> None:
    for path in ("/../pyproject.toml", "//etc/passwd", "/x.json", "/%2e%2e", "/state.json/x"):
        assert client.get(path)[0] == 404, path


@pytest.mark.parametrize("path", ["/", "/state.json"])
def test_another_host_is_refused(client: Client, path: str) -> None:
    for host in ("evil.example", "127.0.0.1", "evil.example:80", "127.0.0.1:1"):
        assert client.get(path, host=host)[0] == 403, host
    assert client.get(path, host=f"localhost:{client.port}")[0] == 200


@pytest.mark.parametrize(
    "request_line",
    [
        "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example",
        "GET / HTTP/1.1\r\nX: y",
        "GET / HTTP/1.0",
        "GET /",
        "HEAD http://localhost/ HTTP/1.1\r\nHost: localhost.evil.example:{port}",
        "GET / HTTP/1.1\r\nHost: evil.example\r\nHost: localhost:{port}",
        "PUT / HTTP/1.1\r\nHost: localhost:{port}",
        "DELETE /state.json HTTP/1.1\r\nHost: localhost:{port}",
        "OPTIONS * HTTP/1.1\r\nHost: localhost:{port}",
        "CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:{port}",
        "GET /%00 HTTP/1.1\r\nHost: localhost:{port}",
        "GET /state.json/../../etc/passwd HTTP/1.1\r\nHost: localhost:{port}",
    ],
)
def test_nothing_else_is_answered(client: Client, request_line: str) -> None:
    until(client, 1)
    with socket.create_connection(("127.0.0.1", client.port)) as raw:
        raw.sendall(request_line.format(port=client.port).encode() + b"\r\n\r\n")
        raw.shutdown(socket.SHUT_WR)
        with raw.makefile("rb") as file:
            answer = file.read()
    assert b" 200 " not in answer.partition(b"\r\n")[0]
    assert b"<script" not in answer
    assert b'"done"' not in answer


def test_head_has_no_body_and_post_is_not_known(client: Client) -> None:
    status, headers, text = client.get("/", method="HEAD")
    assert (status, text) == (200, b"")
    assert int(headers["Content-Length"]) > 100_000
    with socket.create_connection(("127.0.0.1", client.port)) as raw:  # a client that reads all
        raw.sendall(f"HEAD / HTTP/1.0\r\nHost: localhost:{client.port}\r\n\r\n".encode())
        with raw.makefile("rb") as answer:
            assert answer.read().endswith(b"\r\n\r\n")
    assert client.get("/", method="POST")[0] == 501


def test_only_this_machine_is_listened_to(client: Client) -> None:
    others = {
        info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    } - {"127.0.0.1"}
    for address in others | {"127.0.0.2"}:  # loopback too, and not the one it is bound to
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address, client.port), timeout=1).close()


def test_a_port_that_cannot_be_is_an_error(client: Client, tmp_path: Path) -> None:
    wrong = {client.port: "is in use: give another", -1: "", 70_000: ""}
    for port, words in wrong.items():
        with pytest.raises(UsageError, match=f"port {port}.*{words}"):
            served(live_report(tmp_path), port).__enter__()


def test_an_error_of_the_study_is_on_the_page_and_the_last_page_stays(tmp_path: Path) -> None:
    broken = True

    class Study(RunningCampaign):
        @property
        def report_function(self) -> str | None:
            if broken:
                raise KeyError("no column <b>wait</b>")
            return None

    shown = live_report(tmp_path, Study)
    shown.look()  # the first page may be an error
    assert shown.state["page"] == 1
    assert "KeyError" in shown.page
    broken = False
    Study(tmp_path).end_run(0)
    shown.look()
    assert (shown.state["page"], shown.state["error"]) == (2, None)
    before, broken = shown.page, True
    Study(tmp_path).end_run(1)
    shown.look()
    assert shown.page is before
    assert shown.state["done"] == 2
    assert "KeyError: 'no column <b>wait</b>'" in shown.state["error"]
    assert Path(__file__).name in shown.state["error"]
    broken = False
    Study(tmp_path).end_run(2)
    shown.look()
    assert (shown.state["page"], shown.state["error"]) == (3, None)


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    def gone() -> Any:
        raise UsageError("there is no campaign any more")

    shown = LiveReport(gone)
    shown.look()
    assert shown.state["error"] == "there is no campaign any more"


def test_pages_are_not_made_too_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "REST", 3600.0)
    shown = live_report(tmp_path)
    shown.look()
    RunningCampaign(tmp_path).end_run(0)
    shown.look()
    assert (shown.state["page"], shown.state["done"]) == (1, 1)
