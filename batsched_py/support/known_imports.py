"""Code that is run on the word of results: its files are compiled from what was digested.

Python takes what it compiled earlier from ``__pycache__``, and prefers an extension to a source, so
that known sources would not say what runs. Here a file is read once, compared and compiled.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from batsched_py.support.code_places import is_installed
from batsched_py.support.file_digest import sha256


class SourceOnly(SourceFileLoader):
    """Compiles a file anew, whatever lies in ``__pycache__``; of a SHA-256, if one is given."""

    def __init__(self, name: str, path: str, digest: str | None = None) -> None:
        super().__init__(name, path)
        self._digest = digest

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the module; raises :class:`ImportError` for a file that changed."""
        content = self.get_data(self.path)
        if self._digest not in (None, hashlib.sha256(content).hexdigest()):
            raise ImportError(f"{self.path} has changed since you ran it", name=fullname)
        return self.source_to_code(content, self.path)


class _KnownOnly(MetaPathFinder):
    """Finds modules in folders, of files that are known there, and refuses others there."""

    def __init__(self) -> None:
        self.known: dict[Path, Mapping[Path, str]] = {}
        """The folders, and for each the SHA-256 of files, wherever these lie."""
        self.trusted: Collection[Path] = ()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if self.known else None
        if spec is None or spec.origin is None or not spec.has_location:  # a folder has no code
            return None
        digest = self.digest(Path(spec.origin))
        if digest is None:
            return None
        if isinstance(spec.loader, SourceFileLoader):
            spec.loader = SourceOnly(fullname, spec.origin, digest)
        elif sha256(spec.origin) != digest:
            raise ImportError(f"{spec.origin} has changed since you ran it", name=fullname)
        return spec

    def digest(self, file: Path) -> str | None:
        """Return the SHA-256 that a file must have, None if it may be any.

        Raises :class:`ImportError` for a file that is not known where only those are imported.
        """
        file = file.resolve()
        for files in self.known.values():
            if file in files:
                return files[file]
        is_trusted = is_installed(file) or any(map(file.is_relative_to, self.trusted))
        if not is_trusted and any(map(file.is_relative_to, self.known)):
            raise ImportError(f"{file} is not code that you have run")
        return None


_FINDER = _KnownOnly()


def import_only_known(
    folders: Iterable[Path], digests: Mapping[Path, str], trusted: Collection[Path]
) -> None:
    """From now on import from ``folders`` only files of these digests (file to SHA-256).

    What is installed and what lies in ``trusted`` folders is imported as ever.
    """
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _FINDER.trusted = trusted
    _FINDER.known |= dict.fromkeys(folders, digests)


def import_anything(file: Path) -> None:
    """From now on import whatever lies beside a file: somebody has named it."""
    for folder in filter(file.resolve().is_relative_to, [*_FINDER.known]):
        del _FINDER.known[folder]


def source_loader(name: str, file: Path) -> SourceOnly:
    """Return what executes a file; raises :class:`ImportError` if that may not be."""
    return SourceOnly(name, str(file.absolute()), _FINDER.digest(file))
