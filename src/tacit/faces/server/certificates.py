"""TLS for the doors: the curator's certificate, or a self-made one that lies beside the ledger."""

from __future__ import annotations

import ipaddress
import os
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tacit.errors import PolicyError
from tacit.policy import Policy

YEARS = 10
_LOCAL = ("localhost", "127.0.0.1", "::1")


def tls_files(policy: Policy) -> tuple[Path, Path]:
    """The certificate and the key that the doors show; self-made ones are written where the policy names none."""
    server, dataset = policy.server, policy.dataset
    if server.certificate is not None and server.key is not None:
        return dataset.resolve(server.certificate), dataset.resolve(server.key)
    beside = dataset.base if dataset.ledger_mark is not None else dataset.ledger_path.parent
    certificate, key = beside / f"{dataset.name}.certificate.pem", beside / f"{dataset.name}.key.pem"
    if not _still_good(certificate, key):
        _write_self_made(certificate, key, names=(*_LOCAL, server.host, *server.names))
    return certificate, key


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """A server's context. Raises PolicyError, in one line, where the two cannot be used together."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    for file in (certificate, key):
        if not os.access(file, os.R_OK):
            raise PolicyError(f"{file.name} cannot be read: TLS needs it", hint="see certificate and key in [server]")
    try:
        context.load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        if "MISMATCH" in (error.reason or ""):
            raise PolicyError(f"{key.name} is not the key of {certificate.name}") from None
        raise PolicyError(f"{certificate.name} and {key.name} are not a certificate and its key (PEM)") from None
    return context


def fingerprint(certificate: Path) -> str:
    """By which a client may know the certificate: `sha256:…`, of the whole of it."""
    loaded = x509.load_pem_x509_certificate(certificate.read_bytes())
    return f"sha256:{loaded.fingerprint(hashes.SHA256()).hex()}"


def _still_good(certificate: Path, key: Path) -> bool:
    """Whether there is one that does not end within a month."""
    try:
        loaded = x509.load_pem_x509_certificate(certificate.read_bytes())
    except (OSError, ValueError):
        return False
    return key.exists() and loaded.not_valid_after_utc > datetime.now(UTC) + timedelta(days=30)


def _write_self_made(certificate: Path, key: Path, *, names: tuple[str, ...]) -> None:
    private = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tacit")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(subject, subject, private.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=365 * YEARS))
        .add_extension(x509.SubjectAlternativeName([_name(name) for name in dict.fromkeys(names)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(private, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = private.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    try:
        for path, content, mode in ((key, secret, 0o600), (certificate, signed.public_bytes(pem), 0o644)):
            path.unlink(missing_ok=True)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(content)
    except OSError as error:
        raise PolicyError(f"{key.name} cannot be written: {error.strerror}") from None


def _name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name.encode("idna").decode() if name else "tacit")
