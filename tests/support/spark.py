"""A real Spark for tests: a standalone master, two workers and a Connect server on loopback, gone with the session."""

from __future__ import annotations

import atexit
import functools
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

WORKERS = 2
PATIENCE = 120  # seconds
JAVA = 17  # the oldest that Spark 4 runs on
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"  # six Java machines on two cores
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "800m",
    "spark.sql.shuffle.partitions": "2",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.cores.max": str(WORKERS),
    "spark.scheduler.minRegisteredResourcesRatio": "1",  # nobody begins before both workers are there
    "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{PATIENCE}s",
    "spark.deploy.maxExecutorRetries": "-1",  # a worker that is killed is no reason to give up the rest
}
LOG = """\
rootLogger.level = warn
rootLogger.appenderRef.stdout.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c: %m%n%ex
"""
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
_DEPLOY = "org.apache.spark.deploy"


class Cluster:
    """Four processes of Java and what they start, each in a group of its own, and the directory they write into."""

    def __init__(self, home: Path, settings: Mapping[str, str]) -> None:
        self._home, self._settings = home, settings
        self._directory = Path(tempfile.mkdtemp(prefix="tacit-cluster-"))
        (self._directory / "log4j2.properties").write_text(LOG, encoding="utf-8")
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._master = ""
        self.address = ""

    def start(self) -> Cluster:
        """Start all of it, and wait until it answers."""
        port, connect = _free_port(), _free_port()
        self._master = f"spark://127.0.0.1:{port}"
        self._run("master", "spark-class", f"{_DEPLOY}.master.Master", "--host", "127.0.0.1", "--port", str(port),
                  "--webui-port", str(_free_port()))  # fmt: skip
        self._wait_for("master", port)
        for place in range(WORKERS):
            self.start_worker(place)
        settings = {
            **self._settings,
            "spark.connect.grpc.binding.port": connect,
            "spark.sql.warehouse.dir": self._directory / "warehouse",
        }
        said = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        self._run("connect", "spark-submit", "--class", _CONNECT, "--master", self._master, *said, "spark-internal")
        self._wait_for("connect", connect)
        self.address = f"sc://127.0.0.1:{connect}"
        return self

    def start_worker(self, place: int) -> None:
        """One more worker, with one core; it joins when it is ready."""
        memory = self._settings.get("spark.executor.memory", "1g")
        self._run(f"worker-{place}", "spark-class", f"{_DEPLOY}.worker.Worker", "--host", "127.0.0.1", "--cores", "1",
                  "--memory", memory, "--work-dir", str(self._directory / f"work-{place}"),
                  "--webui-port", str(_free_port()), self._master)  # fmt: skip

    def freeze(self, name: str) -> None:
        """Stop a process and all it started where they are: what they were given to do is not done."""
        os.killpg(self._processes[name].pid, signal.SIGSTOP)

    def kill(self, name: str) -> None:
        """SIGKILL to `worker-0`, `connect` or `master`, and to all it started: as if its machine had lost power."""
        process = self._processes.pop(name)
        with suppress(ProcessLookupError):  # it may have ended by itself
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        """End every process, and remove what they wrote."""
        for name in reversed(list(self._processes)):
            self.kill(name)
        shutil.rmtree(self._directory, ignore_errors=True)

    def cpu_seconds(self) -> float:
        """What all its processes have worked so far, whatever else the machine was doing."""
        groups = {str(process.pid) for process in self._processes.values()}
        ticks = 0
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):  # it may have ended by now
                _, _, group, *others = path.read_text(encoding="utf-8").rpartition(")")[2].split()
                ticks += sum(map(int, others[8:10])) if group in groups else 0  # in user mode and in the kernel
        return ticks / os.sysconf("SC_CLK_TCK")

    def said(self, name: str) -> str:
        """What a process has logged."""
        return (self._directory / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def _run(self, name: str, program: str, *arguments: str) -> None:
        inherited = {key: value for key, value in os.environ.items() if key != "SPARK_REMOTE"}  # it asks nobody else
        environment = inherited | {
            "SPARK_HOME": str(self._home),
            "SPARK_CONF_DIR": str(self._directory),
            "SPARK_LOCAL_DIRS": str(self._directory),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "1g",  # at most: the Connect server's too
            "JDK_JAVA_OPTIONS": SHORT_LIVED if self._settings is SETTINGS else "",
            "TZ": "UTC",
        }
        with (self._directory / f"{name}.log").open("wb") as log:
            self._processes[name] = subprocess.Popen(
                [str(self._home / "bin" / program), *arguments], cwd=self._directory, env=environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def _wait_for(self, name: str, port: int) -> None:
        for _ in range(PATIENCE * 5):
            with socket.socket() as asked:
                if asked.connect_ex(("127.0.0.1", port)) == 0:
                    return
            assert self._processes[name].poll() is None, f"Spark's {name} did not start: {self.said(name)[-2000:]}"
            time.sleep(0.2)
        raise AssertionError(f"Spark's {name} does not answer: {self.said(name)[-2000:]}")


def _free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def home() -> Path | None:
    """Where Spark is. Nobody starts a cluster by accident: it must be said."""
    return Path(os.environ["SPARK_HOME"]) if os.environ.get("SPARK_HOME") else None


def missing() -> str | None:
    """Why no cluster can be started here; None if one can."""
    place = home()
    if place is None:
        return "SPARK_HOME is not set: make test-spark sets it"
    if not (place / "bin" / "spark-class").exists():
        return "no Spark at SPARK_HOME: make test-spark installs pyspark where PyPI can be reached"
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else shutil.which("java")
    if java is None:
        return f"no Java: Spark needs {JAVA} or later, in Debian openjdk-17-jre-headless"
    shown = subprocess.run([str(java), "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', shown)
    if version is None or int(version[1]) < JAVA:
        return f"Java is too old: Spark needs {JAVA} or later, in Debian openjdk-17-jre-headless"
    return None


def fresh_cluster(settings: Mapping[str, str] = SETTINGS) -> Cluster:
    """A cluster of one's own, for a test that breaks it or a benchmark that wants other settings."""
    why, place = missing(), home()
    if why is not None or place is None:
        pytest.skip(why or "")
    made = Cluster(place, settings)
    atexit.register(made.stop)
    return made.start()


@functools.cache
def cluster() -> Cluster:
    """The cluster of this test session, started when it is first asked for."""
    return fresh_cluster()
