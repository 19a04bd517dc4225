"""An image of this interpreter and of the package that is tested, for an engine without registry.

It holds the interpreter with its standard library, the package with what it needs to run (no
extra), a shell and ``rm``, and their shared libraries. Nothing is downloaded or
built. The package is taken from where it is imported: an installation or a clone.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import docker

PACKAGES = "/packages"
PROGRAMS = "/usr/local/bin"
SCRIPTS = {
    "batsched-py": b"""#!/usr/local/bin/python
from batsched_py.cli import main

main()
""",
    "batsim": b"""#!/usr/local/bin/python
import sys

from batsched_py.cli import main

sys.argv[1:1] = ["simulator", "--protocol", "5"]
main()
""",
}
"""Programs of the image; ``batsim`` is Batsim 5's."""
LEFT_OUT = {"dist-packages", "site-packages", "test", "tests", "idlelib", "tkinter", "ensurepip"}
"""Folders that no run needs."""
PATIENCE = 600
"""Seconds for the engine to answer: it unpacks some 300 MB."""


@contextmanager
def imported_image(tag: str, entry_point: Sequence[str]) -> Iterator[str]:
    """Give the engine an image with the name ``tag``, which is removed in the end.

    ``entry_point`` is a command such as ``["batsched-py", "simulator"]``; without one the image is
    as that of Batsim 5, of which ``batsim`` is the program. Besides there is ``python``. As in the
    image of Batsim 4 there is a volume ``/data``.
    """
    tar, library_path = _tar()
    name, _, version = tag.partition(":")
    changes = [
        *([f"ENTRYPOINT {json.dumps(list(entry_point))}"] if entry_point else []),
        f"ENV PATH={PROGRAMS} PYTHONPATH={PACKAGES} LD_LIBRARY_PATH={library_path}",
        "WORKDIR /data",
        "VOLUME /data",
    ]
    client = docker.from_env(timeout=PATIENCE)
    try:
        answer = client.api.import_image_from_file(
            tar.name, repository=name, tag=version or "latest", changes=changes
        )
        assert "errorDetail" not in answer, answer
        try:
            yield tag
        finally:
            client.images.remove(tag, force=True)
    finally:
        client.close()


@cache
def _tar() -> tuple[Any, str]:
    """Return a temporary file with all files, made once for all images; and library folders."""
    python = Path(sys._base_executable).resolve()
    programs = {f"{PROGRAMS}/{name}": Path(shutil.which(name) or "") for name in ("sh", "rm")}
    files = {str(python): python, **programs, **_standard_library(), **_packages()}
    libraries = _libraries(set(files.values()))
    made = NamedTemporaryFile(prefix="batsched-image-", suffix=".tar")  # noqa: SIM115
    contents = {**files, **libraries}
    paths = [f"{PROGRAMS}/python", *contents]
    folders = {parent for path in paths for parent in Path(path).parents}
    with tarfile.open(fileobj=made, mode="w", dereference=True) as tar:
        for folder in sorted(folders):  # an engine that makes them lets nobody but root in
            tar.addfile(_entry(str(folder), tarfile.DIRTYPE))
        tar.addfile(_entry("/tmp", tarfile.DIRTYPE, 0o1777))
        tar.addfile(_entry("/data", tarfile.DIRTYPE, 0o777))
        tar.addfile(_entry(f"{PROGRAMS}/python", tarfile.SYMTYPE, linkname=str(python)))
        for program, script in SCRIPTS.items():
            entry = _entry(f"{PROGRAMS}/{program}", size=len(script))
            tar.addfile(entry, io.BytesIO(script))
        for target, source in contents.items():
            tar.add(source, target, filter=_for_everybody)
    made.flush()
    return made, ":".join(sorted({os.path.dirname(target) for target in libraries}))


def _standard_library() -> dict[str, Path]:
    """Return what is where in the image: at its own place, where the interpreter looks for it."""
    folder = Path(sysconfig.get_path("stdlib")).resolve()
    return {str(path): path for path in _below(folder)}


def _packages() -> dict[str, Path]:
    """Return the files of the package and of all that it requires, in one folder."""
    files = {}
    names, seen = ["batsched_py"], set()
    while names:
        name = re.sub(r"[-_.]+", "-", names.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue  # needed elsewhere only, by a marker of its requirement
        for file in found.files or []:
            source = Path(str(found.locate_file(file)))
            left_out = LEFT_OUT.intersection(file.parts) or ".." in file.parts
            if not left_out and file.suffix != ".pth" and source.is_file():
                files[f"{PACKAGES}/{file}"] = source
        requirements = [line for line in found.requires or [] if "extra ==" not in line]
        names += [re.match(r"[\w.-]+", line)[0] for line in requirements]
    for name in ("batsched_py", "batsched_users", "batsched_studies"):
        folder = Path(find_spec(name).origin).parent
        for path in _below(folder):
            files[f"{PACKAGES}/{name}/{path.relative_to(folder)}"] = path
    return files


def _below(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        paths = [Path(root, name) for name in names]
        yield from (path for path in paths if path.is_file() and path.suffix != ".a")


def _libraries(files: set[Path]) -> dict[str, Path]:
    """Return the shared libraries that the programs and modules among ``files`` load."""
    binary = [str(path) for path in files if ".so" in path.suffixes or os.access(path, os.X_OK)]
    told = subprocess.run(["ldd", *binary], capture_output=True, text=True).stdout
    paths = {line.split(" (0x")[0].split("=>")[-1].strip() for line in told.splitlines()}
    own = {path.resolve() for path in files}
    return {
        path: Path(path)
        for path in paths
        if path.startswith("/") and Path(path).is_file() and Path(path).resolve() not in own
    }


def _entry(name: str, kind: bytes = tarfile.REGTYPE, mode: int = 0o755, **more: Any) -> Any:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = kind, mode
    for key, value in more.items():
        setattr(entry, key, value)
    return entry


def _for_everybody(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.mode |= 0o555 if entry.mode & 0o100 else 0o444
    return entry
