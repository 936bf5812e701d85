"""Tests the cache of compiled kernels: corrupted, foreign, shared or full, or without the compiler libraries."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.robust.helpers import output, run

# A function that no other test computes, so that its kernel is not cached.
CODE = """
    import cuprous as cp
    cp._core.set_device("cuda")
    x = cp.arange(1000.0)
    print(float((cp.sqrt(x * 1.25 + 0.0625) - cp.log1p(x)).sum()).hex())
    cp._core.synchronize()
    print(cp._core.stats()["kernels_compiled"], cp._core.stats()["kernels_from_disk"])
"""


def result(folder: Path) -> tuple[str, int, int]:
    value, counts = output(CODE, CUPROUS_CACHE_DIR=str(folder)).splitlines()[-2:]
    compiled, from_disk = map(int, counts.split())
    return value, compiled, from_disk


def cached(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file()]


def test_the_second_process_compiles_nothing(tmp_path: Path) -> None:
    first, compiled, _ = result(tmp_path)
    assert compiled >= 1
    second, compiled, from_disk = result(tmp_path)
    assert (second, compiled) == (first, 0)
    assert from_disk >= 1


@pytest.mark.parametrize("damage", ["empty", "cut", "noise", "flipped"])
def test_a_damaged_file_is_compiled_again(tmp_path: Path, damage: str) -> None:
    first, _, _ = result(tmp_path)
    files = cached(tmp_path)
    assert files
    for path in files:
        data = bytearray(path.read_bytes())
        if damage == "empty":
            data.clear()
        elif damage == "cut":
            del data[len(data) // 2 :]
        elif damage == "noise":
            data[:] = os.urandom(len(data))
        else:
            data[len(data) // 2] ^= 0x40
        path.chmod(0o600)
        path.write_bytes(data)
    second, compiled, _ = result(tmp_path)
    assert second == first
    assert compiled >= 1
    third, compiled, _ = result(tmp_path)
    assert (third, compiled) == (first, 0)  # the damaged file was replaced


def test_foreign_files_in_the_folder_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "sub").mkdir()
    first, _, _ = result(tmp_path)
    assert first
    assert (tmp_path / "notes.txt").read_text() == "hello"


def test_the_cache_is_the_users_own(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    result(folder)
    assert stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0


def test_a_cache_that_others_may_write_is_not_trusted(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    first, _, _ = result(tmp_path)
    _, compiled, from_disk = result(tmp_path)
    assert first
    assert (compiled >= 1, from_disk) == (True, 0)


def test_a_missing_library_names_the_pip_line() -> None:
    """Without NVRTC the GPU cannot be used, and the message says what to install."""
    code = """
        import cuprous as cp
        cp._core.set_library_roots([])
        try:
            cp._core.set_device("cuda")
            print(float((cp.arange(10.0) * 1.75).sum()))
        except Exception as error:
            print(type(error).__name__, error)
    """
    done = run(code, CUPROUS_CACHE_DIR="/proc/none", CUDA_PATH=None, CUDA_HOME=None, LD_LIBRARY_PATH="")
    assert done.returncode == 0, done.stderr
    if done.stdout.strip() == "78.75":
        pytest.skip("the system's own CUDA has the library")
    assert "pip install" in done.stdout


def test_two_processes_fill_one_cache(tmp_path: Path) -> None:
    code = f"""
        import os, subprocess, sys, textwrap
        env = dict(os.environ, CUPROUS_CACHE_DIR={str(tmp_path)!r})
        line = [sys.executable, "-c", textwrap.dedent({CODE!r})]
        jobs = [subprocess.Popen(line, env=env, stdout=subprocess.PIPE, text=True) for _ in range(3)]
        print(len({{j.communicate()[0].splitlines()[0] for j in jobs}}), [j.returncode for j in jobs])
    """
    assert output(code) == "1 [0, 0, 0]"


def test_fork_after_use_of_the_gpu_is_a_clear_error() -> None:
    code = """
        import os, sys, warnings
        warnings.simplefilter("ignore")
        import cuprous as cp
        cp._core.set_device("cuda")
        x = cp.arange(10.0)
        print(float(x.sum()), flush=True)
        pid = os.fork()
        if pid == 0:
            try:
                print(float((x * 2).sum()), flush=True)
            except RuntimeError as error:
                print("spawn" in str(error), flush=True)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        print(float((x * 3).sum()), status)
    """
    assert output(code).splitlines() == ["45.0", "True", "135.0 0"]
