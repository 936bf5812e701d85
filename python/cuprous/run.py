"""Starts the ranks of a job, with torchrun's options: `python -m cuprous.run --standalone --nproc-per-node=2 train.py`.

The launcher hosts the store through which ranks find each other, tells them how others ended, starts all of them again
after a failure if it may, and leaves no process behind.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from string import Template
from types import FrameType
from typing import Any

from cuprous import _core
from cuprous._core import DistStore, DistStoreError
from cuprous._tools import affinity
from cuprous._tools.ranks import Rank, by_rank, outputs_of, summary, words
from cuprous.cuda import Device
from cuprous.runner._binding import environment, line
from cuprous.runner._packages import DEFAULT, chosen
from cuprous.runner.command import names

#: How long other ranks may take to end by themselves after a failure, with their own messages.
_GRACE = 3.0
#: How long ranks may take to end after SIGTERM.
_PATIENCE = 10.0
#: How long hosts wait for each other, and after which time they say so.
_JOIN, _NOTICE = 300.0, 10.0
_LOCAL = "127.0.0.1"
#: What stands before each line of a rank on the console.
_PREFIX = "[rank${rank}]:"
#: The signals at which the ranks are ended, as torchrun's.
_SIGNALS = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
_UNCATCHABLE = ("SIGKILL", "SIGSTOP")


def _numbers(text: str) -> set[int]:
    return {int(part) for part in text.split(",")}


def _no_handler(text: str) -> str:
    if text != "null":
        raise argparse.ArgumentTypeError(f"{text}: no events are recorded; --log-dir keeps errors and what ranks print")
    return text


def _no_specs(text: str) -> str:
    raise argparse.ArgumentTypeError(f"{text}: extensions of PyTorch's logging are not supported; use --log-dir, --tee")


def _hosts(text: str) -> int:
    least, _, most = text.partition(":")
    if most not in ("", least):
        raise argparse.ArgumentTypeError(f"{text}: the number of hosts cannot change during a job; give one number")
    return int(least)


def _signals(text: str) -> list[signal.Signals]:
    """Returns the signals of names such as "SIGTERM,SIGUSR1"."""
    names = [name.strip().upper() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in signal.Signals.__members__ or name in _UNCATCHABLE]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not a signal that a process can handle")
    return [signal.Signals[name] for name in names]


def _seconds_to_join(text: str) -> float:
    """Returns the time limit of `--rdzv-conf`, such as "join_timeout=600"."""
    given = dict(part.partition("=")[::2] for part in text.split(",") if part)
    unknown = set(given) - {"join_timeout", "timeout"}
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: only join_timeout or timeout is supported")
    return float(given.get("join_timeout", given.get("timeout", _JOIN)))


def _default(name: str, default: Any) -> Any:
    """Returns the default of an option: that of torchrun's environment variable, such as PET_NNODES, if it is set."""
    text = os.environ.get("PET_" + name[2:].replace("-", "_").upper(), "")
    return default if not text else bool(int(text)) if isinstance(default, bool) else text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cuprous.run", description="Starts the ranks of a job.",
                                     allow_abbrev=False)  # fmt: skip

    def option(name: str, *short: str, **settings: Any) -> None:
        names = [*short, name] if "-" not in name[2:] else [*short, name, "--" + name[2:].replace("-", "_")]
        settings["default"] = _default(name, settings["default"])
        parser.add_argument(*names, **settings)

    option("--standalone", action="store_true", default=False, help="one host; any free port")
    option("--nnodes", type=_hosts, default=1, metavar="N", help="hosts, each of which runs this launcher")
    option(
        "--nproc-per-node",
        default="1",
        metavar="N",
        help="ranks on this host; gpu is one for each GPU, cpu for each core, auto for each GPU if there is one",
    )
    option("--node-rank", type=int, default=0, metavar="N", help="this host's number, from 0")
    option("--rdzv-endpoint", default="", metavar="HOST:PORT", help="where host 0 is reached")
    option("--rdzv-id", default="none", metavar="NAME", help="the job's name")
    option("--rdzv-backend", default="static", choices=["static", "c10d"], help="accepted; both mean the same here")
    option("--rdzv-conf", type=_seconds_to_join, default=_JOIN, metavar="join_timeout=S",
           help="how long hosts wait for each other")  # fmt: skip
    option("--master-addr", default=_LOCAL, metavar="HOST", help="the host of --rdzv-endpoint")
    option("--master-port", type=int, default=29500, metavar="PORT", help="the port of --rdzv-endpoint")
    option("--max-restarts", type=int, default=0, metavar="N", help="starts all ranks again after a failure")
    option("--monitor-interval", type=float, default=0.05, metavar="S", help="seconds between two looks at the ranks")
    option("--local-addr", default=None, metavar="HOST", help="the address of this host on which its ranks listen")
    option("--signals-to-handle", type=_signals, default=_SIGNALS, metavar="NAMES",
           help="signals that are sent on to the ranks, which end the job")  # fmt: skip
    option("--virtual-local-rank", action="store_true", default=False,
           help="each rank sees only its own GPU, as number 0, and has LOCAL_RANK=0")  # fmt: skip
    option("--role", default="default", metavar="NAME", help="the ranks' ROLE_NAME")
    option("--start-method", default="spawn", choices=["spawn", "fork", "forkserver"],
           help="accepted; a rank is always a new process")  # fmt: skip
    option("--log-dir", default=None, metavar="DIR", help="for error files, and what --redirects and --tee write")
    streams = "1 stdout, 2 stderr, 3 both, or by rank on this host: 0:3,1:2"
    option("--redirects", "-r", type=by_rank, default={}, metavar="N", help=f"to files: {streams}")
    option("--tee", "-t", type=by_rank, default={}, metavar="N", help=f"to files and the console: {streams}")
    option("--local-ranks-filter", type=_numbers, default=None, metavar="N,N",
           help="only these ranks of this host write to the console")  # fmt: skip
    for name in ("stdout", "stderr"):
        option(f"--duplicate-{name}-filters", type=words, default=[], metavar="TEXTS",
               help=f"lines of --tee with one of these texts also go to filtered_{name}.log")  # fmt: skip
    option("--log-line-prefix-template", default=os.environ.get("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", _PREFIX),
           metavar="TEXT", help="before lines of --tee: ${role_name}, ${rank}, ${local_rank}, ${hostname}")  # fmt: skip
    option("--numa-binding", default=None, choices=affinity.MODES, help="each rank runs on cores near its GPU")
    option("--shutdown-timeout", type=float, default=_PATIENCE, metavar="S",
           help="how long ranks may take to end after a signal")  # fmt: skip
    option("--event-log-handler", type=_no_handler, default="null", help="accepted: null")
    option("--logs-specs", type=_no_specs, default=None, help=argparse.SUPPRESS)
    bound = "bind torch and the other packages of `cuprous run`, and these, to Cuprous for all ranks"
    parser.add_argument("--bind", type=names, default=[], metavar="NAMES", help=bound)
    parser.add_argument("-m", "--module", action="store_true", help="the program is the name of a module")
    option("--run-path", action="store_true", default=False,
           help="accepted for a script with an absolute path; a rank is always a new Python")  # fmt: skip
    option("--no-python", action="store_true", default=False, help="the program is not run by Python")
    parser.add_argument("program", help="the program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def _processes(text: str) -> int:
    gpus = _core.device_count() if text in ("auto", "gpu") else 0
    if text == "gpu" and gpus == 0:
        raise SystemExit("--nproc-per-node=gpu: this machine has no GPU; auto starts a rank for each core then")
    if gpus > 0:
        return gpus
    if text in ("auto", "cpu"):
        return os.cpu_count() or 1
    if not text.isdecimal() or int(text) < 1:
        raise SystemExit(f"--nproc-per-node must be a positive number, auto, cpu or gpu, got {text!r}")
    return int(text)


class _Stopped(Exception):
    """The launcher got a signal."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Launcher:
    """The ranks of this host, and the store.

    Parameters
    ----------
    options : Namespace
        What `main` parsed.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.local = _processes(options.nproc_per_node)
        if options.nnodes < 1 or not 0 <= options.node_rank < options.nnodes:
            raise SystemExit(f"--node-rank must be 0 to {options.nnodes - 1}, got {options.node_rank}")
        if options.standalone and options.nnodes > 1:
            raise SystemExit("--standalone is for one host; give --rdzv-endpoint=HOST:PORT of host 0")
        if options.run_path and not os.path.isabs(options.program):
            raise SystemExit(f"--run-path needs an absolute path, got {options.program!r}")
        self.gpus = self._gpus() if options.virtual_local_rank else []
        self.cores = self._cores()
        host, port = self._endpoint()
        self.store = DistStore.tcp(host, port, options.node_rank == 0, options.rdzv_conf)
        self.host, self.port = host, self.store.port or port
        self.run_id = options.rdzv_id if options.rdzv_id != "none" else secrets.token_hex(4)
        if options.nnodes > 1:
            if options.node_rank == 0:
                self.store.set("launcher/id", self.run_id.encode())
            self.run_id = self.store.get("launcher/id", options.rdzv_conf).decode()
        counts = self._counts()
        #: The first rank of this host, and the ranks of all hosts.
        self.first, self.world = sum(counts[: options.node_rank]), sum(counts)
        # Hosts cannot exchange a secret through the store, so the user gives it to each.
        token = os.environ.get("CUPROUS_JOB_TOKEN") or (secrets.token_hex(32) if options.nnodes == 1 else "")
        self.token = {"CUPROUS_JOB_TOKEN": token} if token else {}
        self.folder = options.log_dir or tempfile.mkdtemp(prefix="cuprous-run-")
        self.filters = {name: getattr(options, f"duplicate_{name}_filters") for name in ("stdout", "stderr")}
        self.ranks: list[Rank] = []

    def _gpus(self) -> list[str]:
        """Returns the GPU of each rank of this host, as CUDA_VISIBLE_DEVICES names it."""
        given = os.environ.get("CUDA_VISIBLE_DEVICES")
        found = [str(k) for k in range(self.local)] if given is None else [gpu.strip() for gpu in given.split(",")]
        if len(found) < self.local:
            raise SystemExit(
                f"--virtual-local-rank: CUDA_VISIBLE_DEVICES={given} has fewer GPUs than {self.local} ranks"
            )
        return found

    def _cores(self) -> list[set[int]] | None:
        """Returns the cores of each rank of this host, if it has not all of them."""
        mode = self.options.numa_binding
        if mode is None:
            return None
        gpus = _core.device_count()
        if gpus < self.local:
            raise SystemExit(f"--numa-binding: this machine has {gpus} GPUs for {self.local} ranks")
        try:
            machine = affinity.of_this_machine([Device(gpu).attributes["pciBusID"] for gpu in range(gpus)])
            return [machine.near(mode, gpu) for gpu in range(self.local)]
        except (OSError, ValueError) as error:
            raise SystemExit(f"--numa-binding={mode}: {error}") from None

    def _counts(self) -> list[int]:
        """Returns how many ranks each host starts. Waits for the hosts."""
        hosts = self.options.nnodes
        if hosts == 1:
            return [self.local]
        self.store.set(f"launcher/ranks/{self.options.node_rank}", str(self.local).encode())
        return [self._count(host) for host in range(hosts)]

    def _count(self, host: int) -> int:
        key = f"launcher/ranks/{host}"
        try:
            return int(self.store.get(key, min(_NOTICE, self.options.rdzv_conf)))
        except DistStoreError:
            text = f"host {host} of {self.options.nnodes} has not joined; waiting up to {self.options.rdzv_conf:.0f} s"
            print(f"[cuprous.run] {text}", file=sys.stderr)
        return int(self.store.get(key, self.options.rdzv_conf))

    def _endpoint(self) -> tuple[str, int]:
        options = self.options
        if options.rdzv_endpoint:
            host, _, port = options.rdzv_endpoint.rpartition(":")
            host, port = (host, port) if host else (port, "29500")
            if not port.isdecimal():
                raise SystemExit(f"--rdzv-endpoint must be HOST:PORT, got {options.rdzv_endpoint!r}")
            return host, int(port)
        if options.standalone or (options.nnodes == 1 and options.master_addr == _LOCAL):
            return _LOCAL, 0 if options.standalone else options.master_port
        return options.master_addr, options.master_port

    def _environment(self, local: int, attempt: int, error_file: str) -> dict[str, str]:
        options = self.options
        rank, world = self.first + local, self.world
        values = {
            "RANK": rank, "WORLD_SIZE": world, "LOCAL_RANK": local, "LOCAL_WORLD_SIZE": self.local,
            "GROUP_RANK": options.node_rank, "GROUP_WORLD_SIZE": options.nnodes, "ROLE_NAME": options.role,
            "ROLE_RANK": rank, "ROLE_WORLD_SIZE": world, "MASTER_ADDR": self.host, "MASTER_PORT": self.port,
            "TORCHELASTIC_RUN_ID": self.run_id, "TORCHELASTIC_RESTART_COUNT": attempt,
            "TORCHELASTIC_MAX_RESTARTS": options.max_restarts, "TORCHELASTIC_USE_AGENT_STORE": "True",
            "TORCHELASTIC_ERROR_FILE": error_file,
        }  # fmt: skip
        if options.local_addr is not None:
            values["CUPROUS_LOCAL_ADDR"] = options.local_addr
        if options.virtual_local_rank:
            values |= {"LOCAL_RANK": 0, "CUDA_VISIBLE_DEVICES": self.gpus[local]}
        bound = environment(chosen((*DEFAULT, *options.bind))) if options.bind else {}
        return os.environ | {name: str(value) for name, value in values.items()} | self.token | bound

    def _command(self) -> list[str]:
        options = self.options
        start = (
            []
            if options.no_python and not options.run_path
            else [sys.executable, "-u", *(["-m"] if options.module else [])]
        )
        return [*start, options.program, *options.arguments]

    def start(self, attempt: int) -> None:
        """Starts the ranks of this host."""
        self.ranks = []
        for local in range(self.local):
            folder = os.path.join(self.folder, self.run_id, f"attempt_{attempt}", str(local))
            os.makedirs(folder, exist_ok=True)
            environment = self._environment(local, attempt, os.path.join(folder, "error.json"))
            outputs, number = outputs_of(local, self.options), self.first + local
            names = {"role_name": self.options.role, "rank": number, "local_rank": local,
                     "hostname": socket.gethostname()}  # fmt: skip
            prefix = Template(self.options.log_line_prefix_template).safe_substitute(names)
            cores = None if self.cores is None else self.cores[local]
            self.ranks.append(Rank(number, self._command(), environment, folder, outputs, self.filters, prefix, cores))

    def watch(self, attempt: int) -> bool:
        """Waits until all ranks have ended. Returns True if all succeeded; after a failure the others are ended."""
        failed_at: float | None = None
        statuses = self.store.prefixed(f"cuprous/{self.run_id}/{attempt}")
        elsewhere, looked = f"launcher/{attempt}/failed", 0.0
        while any(rank.is_running() for rank in self.ranks):
            for rank in self.ranks:
                if rank.has_just_ended():
                    statuses.set(f"exit/{rank.number}", rank.status_text().encode())
                    if rank.failed() and failed_at is None:
                        failed_at = time.monotonic()
                        self.store.set(elsewhere, b"1")
            if self.options.nnodes > 1 and failed_at is None and time.monotonic() - looked > 0.5:
                looked = time.monotonic()
                failed_at = looked if self.store.check([elsewhere]) else None
            if failed_at is not None and time.monotonic() - failed_at > _GRACE:
                self.end(signal.SIGTERM)
            time.sleep(self.options.monitor_interval)
        for rank in self.ranks:
            if rank.has_just_ended():
                statuses.set(f"exit/{rank.number}", rank.status_text().encode())
        failed = any(rank.failed() for rank in self.ranks)
        if failed:
            self.store.set(elsewhere, b"1")
        return not self._all_hosts_ended(attempt) and not failed

    def _all_hosts_ended(self, attempt: int) -> bool:
        """Waits until the ranks of all hosts have ended. Returns True if some of another host failed."""
        if self.options.nnodes == 1:
            return False
        key = f"launcher/{attempt}/ended"
        self.store.add(key, 1)
        while self.store.add(key, 0) < self.options.nnodes:
            time.sleep(0.1)
        return self.store.check([f"launcher/{attempt}/failed"])

    def end(self, number: int) -> None:
        """Ends all ranks of this host: with a signal, then by force."""
        for rank in self.ranks:
            rank.send(number)
        until = time.monotonic() + self.options.shutdown_timeout
        while any(rank.is_running() for rank in self.ranks) and time.monotonic() < until:
            time.sleep(0.02)
        for rank in self.ranks:
            rank.send(signal.SIGKILL)
            rank.process.wait()

    def run(self) -> int:
        """Runs the job, and again after failures. Returns the exit code."""
        for attempt in range(self.options.max_restarts + 1):
            self.start(attempt)
            try:
                if self.watch(attempt):
                    return 0
            except _Stopped as stopped:
                print(f"[cuprous.run] got {stopped}; ending {self.local} ranks", file=sys.stderr)
                self.end(stopped.number)
                return 128 + stopped.number
            finally:
                self.end(signal.SIGKILL)
            again = attempt < self.options.max_restarts
            note = f"; starting all ranks again ({attempt + 1} of {self.options.max_restarts})" if again else ""
            print(summary(self.options.program, self.ranks, note), file=sys.stderr)
        return 1

    def leave(self) -> None:
        """Waits, on the host of the store, until the other hosts no longer need it."""
        if self.options.node_rank > 0:
            self.store.add("launcher/left", 1)
            return
        until = time.monotonic() + self.options.shutdown_timeout + _GRACE
        while self.store.add("launcher/left", 0) < self.options.nnodes - 1 and time.monotonic() < until:
            time.sleep(0.05)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns the exit code: 0 if all ranks succeeded."""
    options = _parser().parse_args(arguments)

    def stop(number: int, _: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN if number != signal.SIGINT else signal.default_int_handler)
        raise _Stopped(number)

    for number in options.signals_to_handle:
        signal.signal(number, stop)
    if options.bind:
        print(line(chosen((*DEFAULT, *options.bind))), file=sys.stderr, flush=True)
    try:
        launcher = Launcher(options)
        code = launcher.run()
        launcher.leave()
        return code
    except (_core.DistNetworkError, _core.DistStoreError) as error:
        print(f"[cuprous.run] {error}", file=sys.stderr)
        return 1
    except (_Stopped, KeyboardInterrupt):
        return 130


if __name__ == "__main__":
    sys.exit(main())
