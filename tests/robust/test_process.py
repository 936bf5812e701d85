"""Tests import, fork, threads, interrupts and unusual environments, each in a separate process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from .helpers import DEVICE, interrupted, output

SET = f"import cuprous as cp; cp._core.set_device({DEVICE!r});"
unix_only = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def test_import_does_not_import_numpy() -> None:
    code = "import sys, cuprous; print('numpy' in sys.modules, 'torch' in sys.modules)"
    assert output(code) == "False False"


def test_import_brings_little() -> None:
    """An import is slow because of the modules that it loads; the benchmarks measure the time."""
    code = """
        import sys
        before = set(sys.modules)
        import cuprous
        print(*{name.split('.')[0] for name in set(sys.modules) - before})
    """
    small = "atexit collections contextlib copyreg enum functools importlib itertools keyword math operator re reprlib"
    allowed = {*small.split(), "struct", "threading", "types", "typing", "warnings", "weakref", "cuprous"}
    brought = set(output(code).split())
    assert {name for name in brought if not name.startswith("_")} <= allowed


def test_import_starts_nothing(tmp_path: Path) -> None:
    """No thread, no CUDA, no file in the cache before the first computation."""
    code = """
        import os, cuprous
        threads = len(os.listdir('/proc/self/task')) if os.path.exists('/proc/self/task') else 1
        maps = open('/proc/self/maps').read() if os.path.exists('/proc/self/maps') else ''
        print(threads, 'libcuda.so' in maps, 'libnvrtc' in maps, os.path.exists(os.environ['CUPROUS_CACHE_DIR']))
    """
    assert output(code, CUPROUS_CACHE_DIR=str(tmp_path / "cache")) == "1 False False False"


@unix_only
def test_fork_after_use_on_the_cpu() -> None:
    """The child has none of the parent's threads and must still compute."""
    code = """
        import os, warnings
        warnings.simplefilter("ignore")
        import cuprous as cp
        cp._core.set_device("cpu")
        x = cp.arange(1_000_000.0)
        print(float((x * 2).sum()), flush=True)
        pending = x + 1
        pid = os.fork()
        total = float((pending * 2).sum())
        if pid == 0:
            print("child", total, flush=True)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        print("parent", total, status)
    """
    want = 999_999 * 1_000_000.0
    assert output(code).splitlines() == [str(want), f"child {want + 2e6}", f"parent {want + 2e6} 0"]


@unix_only
def test_a_long_step_in_a_child_with_one_thread() -> None:
    """Waiting must not block the only thread that can do the work."""
    code = """
        import os, signal, warnings
        warnings.simplefilter("ignore")
        import cuprous as cp
        cp._core.set_device("cpu")
        print(float((cp.arange(1_000_000.0) * 2).sum()), flush=True)
        pid = os.fork()
        if pid == 0:
            signal.alarm(60)
            x = cp.ones((700, 700))
            os._exit(0 if float((x @ x)[0, 0]) == 700 else 3)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """
    assert output(code, RAYON_NUM_THREADS="1").splitlines() == [str(999_999 * 1_000_000.0), "0"]


@unix_only
def test_fork_beside_threads_that_compute() -> None:
    """Children and parent stay usable although the engine was busy during the fork."""
    code = """
        import os, signal, threading, time, warnings
        warnings.simplefilter("ignore")
        import cuprous as cp
        cp._core.set_device("cpu")
        stop = []
        def busy():
            x = cp.ones((300, 300)) * 1e-3
            while not stop:
                x = cp.sin(x @ x) + 1
                float(x[0, 0])
        threads = [threading.Thread(target=busy, daemon=True) for _ in range(2)]
        [thread.start() for thread in threads]
        time.sleep(0.2)
        results = []
        for k in range(10):
            pid = os.fork()
            if pid == 0:
                signal.alarm(30)
                big = cp.ones(1_000_000) * 2
                ok = float((cp.arange(100.0) + k).sum()) == 4950 + 100 * k and float(big.sum()) == 2e6
                ok = ok and float((cp.ones((200, 200)) @ cp.ones((200, 200)))[0, 0]) == 200
                os._exit(0 if ok else 3)
            results.append(os.waitpid(pid, 0)[1])
            time.sleep(0.01)
        stop.append(1)
        [thread.join() for thread in threads]
        print(results, float(cp.ones(3).sum()))
    """
    assert output(code) == f"{[0] * 10} 3.0"


@unix_only
def test_fork_beside_one_long_program() -> None:
    """A child forked in the middle of an operation of the engine gets an error and does not hang."""
    code = """
        import os, signal, threading, time, warnings
        warnings.simplefilter("ignore")
        import cuprous as cp
        cp._core.set_device("cpu")
        x = cp.ones((6000, 6000), dtype="int64")
        cp.synchronize()
        thread = threading.Thread(target=lambda: (x @ x)[0, 0].item(), daemon=True)
        thread.start()
        time.sleep(1)
        start = time.time()
        pid = os.fork()
        if pid == 0:
            signal.alarm(30)
            try:
                float((cp.arange(100.0) + 1).sum())
            except RuntimeError as error:
                os._exit(5 if "forked while another thread" in str(error) else 4)
            os._exit(0)
        waited = time.time() - start
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), waited < 10, flush=True)
        os._exit(0)
    """
    assert output(code) == "5 True"


def test_a_second_interpreter_is_refused() -> None:
    """As in NumPy, a second interpreter raises; the first one keeps working."""
    code = """
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        import cuprous as cp
        print(float(cp.ones(3).sum()))
        inner = chr(10).join([
            "try:",
            "    import cuprous",
            "except ImportError as error:",
            "    ours = 'per process' in str(error) or 'subinterpreter' in str(error)",
            "    print('refused' if ours else error, flush=True)",
        ])
        try:
            other = interpreters.create("legacy")
        except TypeError:
            other = interpreters.create(isolated=False)
        interpreters.run_string(other, inner)
        interpreters.destroy(other)
        print(float((cp.arange(5.0) * 2).sum()), repr(cp.arange(2)), cp.linalg.det(cp.eye(2)).item())
    """
    assert output(code).splitlines() == ["3.0", "refused", "20.0 array([0, 1]) 1.0"]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_multiprocessing(method: str, tmp_path: Path) -> None:
    """Workers start in a clean state; arrays are sent as pickles."""
    if method == "forkserver" and sys.platform == "win32":
        pytest.skip("there is no forkserver")
    program = tmp_path / "program.py"
    code = f"""
        import multiprocessing as mp, os
        {SET}
        def work(array):
            return array * 2 + os.getpid() * 0, os.getpid()
        if __name__ == "__main__":
            here = cp.arange(10.0)
            pending = here + 1
            print(float(here.sum()))
            with mp.get_context({method!r}).Pool(2) as pool:
                results = pool.map(work, [here, pending, here[::-2]])
            print([float(array.sum()) for array, _ in results], os.getpid() in {{pid for _, pid in results}})
    """
    program.write_text(textwrap.dedent(code))
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["45.0", "[90.0, 110.0, 50.0] False"]


def test_threads_that_record_at_once() -> None:
    """Each thread has its own tape; arrays may be read by all."""
    code = f"""
        import threading
        {SET}
        shared = cp.arange(1000.0)
        failures = []
        def work(k):
            try:
                x = shared * k
                for n in range(200):
                    x = x + 1
                    if n % 20 == k % 20:
                        x = x[::-1].copy()
                got = sorted(cp.asnumpy(x).tolist())
                want = [i * k + 200.0 for i in range(1000)]
                if got != sorted(want):
                    failures.append(k)
            except BaseException as error:
                failures.append(repr(error))
        for _ in range(5):
            threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 9)]
            [t.start() for t in threads]
            [t.join() for t in threads]
        print(failures)
    """
    assert output(code) == "[]"


def test_an_array_handed_to_another_thread_before_it_ran() -> None:
    code = f"""
        import threading
        {SET}
        x = cp.arange(10.0)
        y = x * 3
        y[2:] += 1
        out = []
        t = threading.Thread(target=lambda: out.append(cp.asnumpy(y + 1).tolist()))
        t.start(); t.join()
        y *= 0
        print(out[0] == [1.0, 4.0] + [i * 3 + 2.0 for i in range(2, 10)], float(y.sum()))
    """
    assert output(code) == "True 0.0"


def test_threads_that_write_one_array() -> None:
    """The order is unspecified, but each write happens once."""
    code = f"""
        import threading
        {SET}
        x = cp.zeros(64)
        def work(k):
            for _ in range(100):
                x[k * 8:(k + 1) * 8] += 1
        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        print(float(x.sum()), float(x.min()))
    """
    assert output(code) == "6400.0 100.0"


@unix_only
@pytest.mark.parametrize("loop", ["x = cp.sin(x) + 1", "float((x @ x)[0, 0])"])
def test_ctrl_c_in_a_long_run(loop: str) -> None:
    """KeyboardInterrupt ends a loop that would never end, and the session goes on."""
    setup = "x = cp.ones((700, 700)) * 1e-3\nfloat((x @ x)[0, 0])"
    interrupted(setup, f"while True:\n    {loop}", wait=0.5)


def test_arrays_alive_at_exit() -> None:
    code = f"""
        {SET}
        x = cp.ones(1000) * 2
        y = x[1:] + 1        # never run
        class Cycle: pass
        c = Cycle(); c.me = c; c.array = y
        print("done")
    """
    assert output(code) == "done"


def test_work_inside_a_destructor() -> None:
    code = f"""
        {SET}
        class Late:
            def __init__(self): self.x = cp.ones(10)
            def __del__(self): float((self.x * 2).sum())
        keep = Late()
        del keep
        last = Late()
        print("done")
    """
    assert output(code) == "done"


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_no_visible_device(hidden: str) -> None:
    code = """
        import cuprous as cp
        print(cp._core.device_count(), cp._core.get_device(), float(cp.ones(4).sum()))
        try:
            cp._core.set_device("cuda")
        except RuntimeError as error:
            print(str(error).splitlines()[0])
    """
    first, error = output(code, CUDA_VISIBLE_DEVICES=hidden, CUPROUS_DEVICE=None).splitlines()
    assert first == "0 cpu 4.0"
    assert error.startswith("[cuda] ")
    assert error.count("[cuda]") == 1
    assert "cuprous doctor" in error


def test_a_home_that_cannot_be_written() -> None:
    code = f"{SET} print(float((cp.arange(10) * 2).sum()))"
    assert output(code, HOME="/nonexistent", XDG_CACHE_HOME=None, CUPROUS_CACHE_DIR="/proc/none") == "90.0"


def test_one_thread_is_enough() -> None:
    code = "import cuprous as cp; cp._core.set_device('cpu'); print(float((cp.ones(3_000_000) * 2).sum()))"
    assert output(code, RAYON_NUM_THREADS="1") == "6000000.0"


def test_a_million_small_steps_keep_memory_flat() -> None:
    code = f"""
        import resource
        {SET}
        x = cp.zeros(10)
        def run(n):
            global x
            for k in range(n):
                x = x * 0.5 + k
                if k % 1000 == 0: float(x[0])
        run(20_000)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        run(200_000)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(grown < 30_000, grown)
    """
    assert output(code).startswith("True")


def test_out_of_memory_names_the_lost_work() -> None:
    """Other results are computed; with CUPROUS_PLACES every message names the lines of the program."""
    code = f"""
        {SET}
        kept = cp.arange(1000.0)
        cp._core.synchronize()
        cp._core.set_memory_limit({DEVICE!r}, 64 << 20)
        small = kept * 3
        large = cp.ones(1 << 24) * 2.0
        try:
            float(large[0])
        except MemoryError as error:
            print(error)
        print(float(small.sum()), float((kept * 2).sum()))
    """
    message, values = output(code, CUPROUS_PLACES="1").splitlines()
    assert "given up: [multiply], 134217728 bytes (<string>:7)" in message
    assert values == "1498500.0 999000.0"


@pytest.mark.skipif(DEVICE != "cpu" or sys.platform != "linux", reason="bounds the memory of the process")
def test_sorting_without_memory_for_its_scratch_is_an_error() -> None:
    code = """
        import resource
        import cuprous as cp
        a = cp.arange(1 << 24)[::-1].copy()
        cp.synchronize()
        pages = int(open("/proc/self/statm").read().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (4096 * pages + (200 << 20),) * 2)
        for sort in (cp.sort, cp.argsort):
            try:
                print(int(sort(a)[0]))
            except MemoryError as error:
                print("sort 16777216 elements" in str(error))
    """
    # Without the memory that the compiler of kernels takes where tests check these.
    assert output(code, CUPROUS_CHECK_CUDA=None).split() == ["True", "True"]


@pytest.mark.skipif(DEVICE != "cpu", reason="a routine of the CPU asks for its scratch when it runs")
def test_a_write_in_place_is_done_once_when_a_later_step_has_no_memory() -> None:
    """The first memory limit is too small for the transform, the last is sufficient."""
    code = f"""
        {SET}
        x = cp.ones((512, 512), dtype="complex128")
        p = cp.zeros(3)
        cp._core.synchronize()
        used = cp._core.memory_stats("cpu")["used_bytes"]
        failed = []
        for k, extra in enumerate((4_400_000, 5_000_000, 16_000_000)):
            cp._core.set_memory_limit("cpu", used + extra)
            p += 1
            y = cp.fft.fft2(x)
            try:
                float(abs(y[0, 0]))
            except MemoryError:
                failed.append(k)
            del y
            cp._core.set_memory_limit("cpu", 0)
            assert p.tolist() == [k + 1.0] * 3, p
        print(0 in failed, 2 in failed)
    """
    assert output(code) == "True False"
