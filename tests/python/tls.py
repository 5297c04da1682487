"""Certificates for tests, which the program `openssl` makes."""

import shutil
import subprocess

import pytest


def certificate(folder, name="localhost"):
    """Paths of a certificate that is its own authority, and of its key."""
    if shutil.which("openssl") is None:
        pytest.skip("NOT TESTED: there is no program openssl")
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"),
            *("-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name},IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"),
            *("-keyout", key, "-out", cert),
        ],
        check=True,
        capture_output=True,
    )
    return cert, key
