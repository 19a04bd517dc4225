"""Somebody who is not of a dask cluster, and tries to speak with it."""

from __future__ import annotations

import asyncio
import ssl

from distributed.comm import connect

from batsched_py.campaign.cluster.private_folder import make_keys, private_folder, security

_LIMIT = 10.0
"""Seconds: what listens may speak another protocol, and wait for more."""


async def lets_in(address: str, **keys: object) -> bool:
    """Whether what listens at an address of dask speaks with who has such keys."""
    try:
        await (await asyncio.wait_for(connect(address, timeout=2, **keys), _LIMIT)).close()
    except OSError:
        return False
    return True


async def lets_strangers_in(address: str) -> bool:
    """Whether it speaks with who has no keys, or others, as dask's own client does."""
    place = address.partition("://")[2]
    anyone = ssl.create_default_context()
    anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
    with private_folder(None) as folder:
        make_keys(folder)
        others = security(folder).get_connection_args("client")
    return (
        await lets_in(f"tcp://{place}")
        or await lets_in(f"tls://{place}", ssl_context=anyone)
        or await lets_in(f"tls://{place}", **others)
    )
