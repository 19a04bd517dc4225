"""What keeps other people out of a cluster that is ours: keys of its own, in a folder of its own.

Who reaches the port of a dask scheduler, or of a worker, can run programs in the name of its user,
and on one machine all users reach all ports. So both sides of each connection show a certificate
that was made for this campaign, by a key that only its user can read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from batsched_py.campaign.cluster.address import CLUSTER, needed
from batsched_py.errors import UsageError
from batsched_py.support.atomic_files import make_folder_of, temporary_place

PREFIX = ".cluster-"
_KEY, _CERTIFICATE = "key.pem", "certificate.pem"
_SKEW = timedelta(days=1)
"""By how much clocks of nodes may be behind ours."""
_VALID = timedelta(days=365)


@contextmanager
def private_folder(parent: Path | None) -> Iterator[Path]:
    """Give a new folder that only this user gets into, and remove it at the end.

    ``parent`` is where it is made, None: where temporary files are. Raises :class:`UsageError` if
    the file system does not keep others out.
    """
    place = Path(temporary_place()) if parent is None else parent.absolute()
    make_folder_of(place / "_")
    with TemporaryDirectory(prefix=PREFIX, dir=place, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if os.name == "posix" and folder.stat().st_mode & 0o077:  # elsewhere modes say nothing
            raise UsageError(
                f"{CLUSTER}: other users may enter {folder}, whatever it is told, and read there "
                "the key of the cluster; expected a file system that knows permissions"
            )
        yield folder


def make_keys(folder: Path) -> None:
    """Write a new key into a folder, and the certificate of all who have it."""
    x509 = needed("cryptography.x509")
    elliptic = needed("cryptography.hazmat.primitives.asymmetric.ec")
    hashes = needed("cryptography.hazmat.primitives.hashes")
    form = needed("cryptography.hazmat.primitives.serialization")
    key = elliptic.generate_private_key(elliptic.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a campaign of batsched_py")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _VALID)
        .sign(key, hashes.SHA256())
    )
    pem = form.Encoding.PEM
    (folder / _KEY).touch(0o600)
    (folder / _KEY).write_bytes(
        key.private_bytes(pem, form.PrivateFormat.PKCS8, form.NoEncryption())
    )
    (folder / _CERTIFICATE).write_bytes(certificate.public_bytes(pem))


def security(folder: Path | str) -> Any:
    """Return what dask is to be told of the keys in a folder: no connection is without them."""
    roles = ("client", "scheduler", "worker")
    return needed("distributed").Security(
        require_encryption=True,
        tls_ca_file=f"{folder}/{_CERTIFICATE}",
        **{f"tls_{role}_key": f"{folder}/{_KEY}" for role in roles},
        **{f"tls_{role}_cert": f"{folder}/{_CERTIFICATE}" for role in roles},
    )
