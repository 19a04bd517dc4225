"""Finding logs by name, and fetching them from an archive on this computer."""

from __future__ import annotations

import gzip
import re
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from batsched_py.errors import BatschedError, UsageError
from batsched_py.workload.logs.log_archive import fetch_log, find_log
from helpers.logs import swf_text

NAME = "KTH-SP2-1996-2.1-cln"
LOG = swf_text()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address at which a server on this computer serves it."""
    folder = tmp_path / "served"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for each test, and no folders of the caller."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("BATSCHED_LOGS", raising=False)
    return tmp_path / "cache"


def left_over(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file()]


@pytest.mark.parametrize("file", ["mine", "mine.swf", "mine.swf.gz"])
def test_a_name_is_looked_for_in_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    for folder in ("given", "variable"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).write_text(LOG)
    monkeypatch.setenv("BATSCHED_LOGS", f"{tmp_path / 'none'}:{tmp_path / 'variable'}")
    assert find_log("mine") == tmp_path / "variable" / file
    assert find_log("mine", [tmp_path / "given"]) == tmp_path / "given" / file
    monkeypatch.chdir(tmp_path / "given")
    assert find_log(file) == Path(file), "an existing path wins"
    Path(f"{NAME}.swf").write_text(LOG)
    here = tmp_path / "given"
    assert fetch_log(NAME, [here], archive="http://127.0.0.1:9") == here / f"{NAME}.swf"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (NAME, f"logs fetch {NAME}"),  # a log of the catalogue can be fetched
        ("KTH-SP2-1996-21-cln", NAME),  # a typo is recognised
        ("zzz", "logs list"),  # anything else is told where names are
        ("my_lgo.swf", r"my_log\.swf"),
        ("cache_of_mine", "is a folder"),
    ],
)
def test_a_log_that_is_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_log.swf").write_text(LOG)
    Path("cache_of_mine").mkdir()
    with pytest.raises(UsageError, match=message) as error:
        find_log(name, [tmp_path / "here"])
    assert name[-3:] not in ("zzz", "cln") or str(tmp_path / "here") in str(error.value)


def test_a_log_is_fetched_once(
    served: tuple[Path, str], shared: Path, cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder, url = served
    source = shared / "swf" / f"{NAME}.swf.gz"
    if not source.is_file():
        pytest.skip(f"no {source}")
    (folder / "l_kth_sp2").mkdir()
    shutil.copy(source, folder / "l_kth_sp2")
    path = fetch_log(NAME, archive=url)
    assert path.read_bytes() == source.read_bytes()
    assert left_over(cache) == [path]
    assert capfd.readouterr() == ("", "")
    shutil.rmtree(folder / "l_kth_sp2")
    assert fetch_log(NAME, archive=url) == path
    assert find_log(NAME) == path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "404"),  # the archive does not have it
        pytest.param(gzip.compress(LOG.encode()), "SHA-256", id="another log"),
        pytest.param(gzip.compress(LOG.encode())[:-4], "gzip", id="half a log"),
    ],
)
def test_what_is_not_the_log_is_not_kept(
    served: tuple[Path, str], cache: Path, content: bytes | None, message: str
) -> None:
    folder, url = served
    if content is not None:
        (folder / "l_kth_sp2").mkdir()
        (folder / "l_kth_sp2" / f"{NAME}.swf.gz").write_bytes(content)
    with pytest.raises(BatschedError, match=message) as error:
        fetch_log(NAME, archive=url)
    assert f"{url}/l_kth_sp2/{NAME}.swf.gz" in str(error.value)
    assert "BATSCHED_LOGS" in str(error.value)
    assert left_over(cache) == []


def test_an_archive_that_cannot_be_reached(cache: Path) -> None:
    with pytest.raises(BatschedError, match="BATSCHED_LOGS"):
        fetch_log(NAME, archive="http://127.0.0.1:9")
    assert left_over(cache) == []
    with pytest.raises(UsageError, match=NAME):
        fetch_log("KTH-SP2-1996-21-cln")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("KTH-SP2", "KTH-SP2-1996-2.1-cln"),
        ("kth-sp2", "KTH-SP2-1996-2.1-cln"),
        ("SDSC-SP2-1998", "SDSC-SP2-1998-4.2-cln"),
        ("KTH-SP3-1996-2", "KTH-SP2-1996-2"),
    ],
)
def test_the_cleaned_log_is_suggested_for_the_name_of_a_machine(name: str, meant: str) -> None:
    with pytest.raises(UsageError, match=rf"did you mean '{re.escape(meant)}'"):
        find_log(name)
