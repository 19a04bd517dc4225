"""Closes a resource at the end of a block."""

from __future__ import annotations

from typing import Self


class Closing:
    """A context manager that calls ``close`` of the class it is mixed into."""

    def close(self) -> None:
        """Release the resources; call it once."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
