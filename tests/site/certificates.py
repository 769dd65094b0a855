"""Certificates of local sites: self-signed, and none is secret."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Literal

HERE = Path(__file__).parent


def tls_of(name: Literal["self_signed", "expired", "vouched"]) -> ssl.SSLContext:
    """For a server with this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(HERE / f"{name}.pem")
    return context
