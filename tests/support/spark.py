"""A real Spark for tests: a standalone master, two workers and a Connect server on loopback. Needs SPARK_HOME."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

WORKERS = 2
PATIENCE = 120  # seconds
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"


def _free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


class Cluster:
    """Four processes of Java, and the directory they write into."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._directory = Path(tempfile.mkdtemp(prefix="tacit-cluster-"))
        self._processes: list[subprocess.Popen[bytes]] = []
        self.address = ""

    def start(self) -> Cluster:
        master, connect = _free_port(), _free_port()
        deploy = "org.apache.spark.deploy"
        self._run("master", "spark-class", f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(master),
                  "--webui-port", str(_free_port()))  # fmt: skip
        _wait_for(master)
        for place in range(WORKERS):
            self._run(f"worker-{place}", "spark-class", f"{deploy}.worker.Worker", "--host", "127.0.0.1",
                      "--cores", "1", "--memory", "1g", "--work-dir", str(self._directory / f"work-{place}"),
                      "--webui-port", str(_free_port()), f"spark://127.0.0.1:{master}")  # fmt: skip
        settings = {
            "spark.connect.grpc.binding.port": connect,
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.executor.memory": "800m",
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.warehouse.dir": self._directory / "warehouse",
        }
        said = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        self._run("connect", "spark-submit", "--class", _CONNECT, "--master", f"spark://127.0.0.1:{master}", *said,
                  "spark-internal")  # fmt: skip
        _wait_for(connect)
        self.address = f"sc://127.0.0.1:{connect}"
        return self

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _run(self, name: str, program: str, *arguments: str) -> None:
        environment = os.environ | {"SPARK_HOME": str(self._home), "SPARK_LOCAL_IP": "127.0.0.1", "TZ": "UTC"}
        environment |= {"SPARK_LOCAL_DIRS": str(self._directory), "SPARK_NO_DAEMONIZE": "1"}
        command = [str(self._home / "bin" / program), *arguments]
        with (self._directory / f"{name}.log").open("wb") as log:
            started = subprocess.Popen(
                command, cwd=self._directory, env=environment, stdout=log, stderr=subprocess.STDOUT
            )
        self._processes.append(started)


def _wait_for(port: int) -> None:
    for _ in range(PATIENCE * 5):
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError("Spark did not start")


@functools.cache
def cluster() -> Cluster:
    """The cluster of this test session, started when it is first asked for."""
    made = Cluster(Path(os.environ["SPARK_HOME"]))
    atexit.register(made.stop)
    return made.start()
