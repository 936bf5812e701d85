"""NVIDIA's offline compiler for `backend="nvcc"`: finds and runs it, and caches compiled code on disk."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cuprous import _core
from cuprous.cuda._nvrtc import SEPARATE, Compiled, excerpt, toolkits, wheel_roots


def _wheels() -> list[Path]:
    """Returns the directories of NVIDIA's wheels, the newest CUDA first."""
    return [folder for root in wheel_roots() for folder in sorted(root.glob("c*"), reverse=True)]


def find_nvcc() -> list[str]:
    """Returns the command, found in NVCC, PATH, CUDA_HOME or CUDA_PATH, NVIDIA's wheels, `/usr/local/cuda`.

    Raises
    ------
    RuntimeError
        If it is not found, with what to install.
    """
    if os.environ.get("NVCC"):
        return shlex.split(os.environ["NVCC"])
    *named, usual = toolkits()
    on_path = shutil.which("nvcc")
    places = [Path(on_path)] if on_path else []
    places += [home / "bin" / "nvcc" for home in (*named, *_wheels(), usual)]
    for place in places:
        if os.access(place, os.X_OK) and place.is_file():
            return [str(place)]
    raise RuntimeError(
        "backend='nvcc' needs nvcc, which is not on PATH, in CUDA_HOME or among NVIDIA's wheels:"
        ' pip install "nvidia-cuda-nvcc" "nvidia-cuda-crt" "nvidia-cuda-runtime", or leave backend= out: NVRTC is there'
    )


def device_runtime() -> Path:
    """Returns the path of the library for kernels that launch kernels.

    Raises
    ------
    RuntimeError
        If it is not installed, with what to install.
    """
    for root in (*_wheels(), *toolkits()):
        for folder in ("lib", "lib64"):
            if (root / folder / "libcudadevrt.a").is_file():
                return root / folder / "libcudadevrt.a"
    raise RuntimeError(
        "kernels that launch kernels need libcudadevrt.a, which was not found:"
        ' pip install "nvidia-cuda-runtime", or set CUDA_HOME'
    )


def _run(command: list[str], what: str, source: str, file: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    log = (done.stdout + done.stderr).strip()
    if done.returncode:
        hint = "" if shutil.which("g++") or "-ccbin" in command else "\nnvcc needs a C++ compiler on PATH, such as g++"
        shown = excerpt(source, log, file)
        raise RuntimeError(f"[{what}] nvcc refuses the source: {shlex.join(command)}\n{log}\n{shown}{hint}".rstrip())
    return log


def compile_source(source: str, name: str, target: str, options: Sequence[str] = ()) -> Compiled:
    """Device code of CUDA C++ for a target as `sm_90`; where an option asks for separate compilation, linked.

    Raises
    ------
    RuntimeError
        If there is no nvcc, or the source has errors: the message has the command, its words and the lines around the
        first error.
    NotImplementedError
        For a GPU of AMD.
    """
    if target.startswith("gfx"):
        raise NotImplementedError(f"[{name}] backend='nvcc' compiles for NVIDIA's GPUs; leave it out: hiprtc is there")
    nvcc = find_nvcc()
    program = Path(shutil.which(nvcc[0]) or nvcc[0])
    stamp = f"{program} {program.stat().st_mtime_ns}" if program.exists() else shlex.join(nvcc)
    parts = [part.encode() for part in ("nvcc", stamp, shlex.join(nvcc), target, source, *options)]
    kept = _core.load_cached_code(parts)
    if kept is not None:
        said, _, code = kept.partition(b"\0")
        return Compiled(code, said.decode(), {})
    separate = SEPARATE.intersection(options)
    plain = [option for option in options if option not in SEPARATE]
    arch = f"-gencode=arch={target.replace('sm_', 'compute_')},code={target}"
    # nvcc from a wheel does not search its own library directory.
    libraries = [f"-L{folder}" for folder in (program.parent.parent / "lib",) if folder.is_dir()]
    with tempfile.TemporaryDirectory(prefix="cuprous-nvcc-") as folder:
        file, out = os.path.join(folder, f"{name}.cu"), os.path.join(folder, "code.cubin")
        Path(file).write_text(source)
        if separate:
            middle = os.path.join(folder, "code.o")
            log = _run([*nvcc, arch, *plain, "-dc", file, "-o", middle], name, source, file)
            _run([*nvcc, arch, *libraries, "-dlink", "-cubin", middle, "-lcudadevrt", "-o", out], name, source, file)
        else:
            log = _run([*nvcc, arch, *plain, "-cubin", file, "-o", out], name, source, file)
        code = Path(out).read_bytes()
        log = log.replace(file, name)
    _core.store_cached_code(parts, log.encode() + b"\0" + code)
    return Compiled(code, log, {})
