"""Reads the daemon's metrics and health over the socket `http` in its home."""

from prometheus_client.parser import text_string_to_metric_families

from priory.server.tokens import issue
from real_daemon import Daemon, ask


def get(daemon: Daemon, path: str, *fields: str) -> tuple[int, str]:
    fields = (f"Authorization: Bearer {issue(daemon.home, 'check')}", *fields)
    lines = [f"GET {path} HTTP/1.1", "Host: localhost", "Connection: close", *fields, "", ""]
    head, _, body = ask(str(daemon.home / "http"), "\r\n".join(lines).encode()).partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode()


def metrics(daemon: Daemon) -> dict[str, float]:
    """All that is not zero, as `name{label,…}`."""
    status, text = get(daemon, "/metrics")
    assert status == 200
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    named = {f"{each.name}{{{','.join(each.labels.values())}}}": each.value for each in samples}
    assert len(named) == len(samples)
    return {name.removeprefix("priory_").removesuffix("{}"): value for name, value in named.items() if value}
