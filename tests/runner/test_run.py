"""`cuprous run` and `python -m cuprous`: what a program sees, in its own process and in those that it starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runner.programs import PACKAGE, run, start, write

pytestmark = pytest.mark.slow

TRAIN = """
    import sys
    import torch
    import torch.nn.functional as F
    from torch import nn, optim
    from torch.utils.data import DataLoader, TensorDataset
    import torchvision.transforms as transforms

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    data = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
    model = nn.Linear(4, 1)
    step = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(30):
        for a, b in data:
            step.zero_grad()
            F.mse_loss(model(a), b).backward()
            step.step()
    print(__name__, sys.argv[1:], torch.__version__, F.mse_loss(model(x), x.sum(1, keepdim=True)).item() < 1e-3)
"""


def test_a_program_is_run_unchanged_and_the_binding_is_named(tmp_path: Path) -> None:
    write(tmp_path, train=TRAIN)
    done = run(tmp_path, "train.py", "--lr", "-m")
    assert done.stdout == "__main__ ['--lr', '-m'] 2.11.0+cuprous True\n"
    bound = "torch, torchvision, keras, tensorflow, cupy, cupyx, numba.cuda, pycuda"
    assert done.stderr == f"cuprous: bound {bound} (cuprous.real_package(name) is the real one)\n"
    assert run(tmp_path, "--quiet", "train.py").stderr == ""


def test_other_ways_to_start_a_program(tmp_path: Path) -> None:
    code = "import torch, sys; print(torch.ones(2).sum().item(), *sys.argv[1:])\n"
    write(tmp_path, short=code)
    write(tmp_path / "package", __init__="", __main__=code)
    for arguments in (["short.py", "a"], ["-m", "short", "a"], ["-m", "package", "a"], ["-c", code, "a"]):
        assert start(tmp_path, "-m", "cuprous", *arguments).stdout == "2.0 a\n"
    assert run(tmp_path, "-m", "package", "a").stdout == "2.0 a\n"


def test_nothing_is_bound_without_being_asked(tmp_path: Path) -> None:
    code = (
        "import cuprous, importlib.metadata as m\n"
        "try: import pycuda\n"
        "except ModuleNotFoundError: print('no pycuda', cuprous.bound())"
    )
    assert start(tmp_path, "-c", code).stdout == "no pycuda ()\n"


def test_a_program_fails_as_under_python(tmp_path: Path) -> None:
    write(tmp_path, fails="import sys; sys.exit(7)", raises="import torch\ntorch.ones(2) + torch.ones(3)\n")
    run(tmp_path, "fails.py", code=7)
    failed = run(tmp_path, "raises.py", code=1)
    assert failed.stderr.splitlines()[1] == "Traceback (most recent call last):" and "line 2" in failed.stderr
    assert "name a program" in run(tmp_path, code=2).stderr
    assert run(tmp_path, "none.py", code=2).stderr == "cuprous run: file 'none.py' does not exist\n"
    assert "cannot bind jax" in run(tmp_path, "--bind", "jax", "fails.py", code=2).stderr
    assert (
        "-E or -I"
        in start(
            tmp_path,
            "-I",
            "-c",
            "import sys; sys.path[:0] = sys.argv[1].split(':')\n"
            "import cuprous.cli as c; sys.exit(c.main(['run', 'x.py']))",
            PACKAGE,
            code=2,
        ).stderr
    )


def test_keep_leaves_a_package(tmp_path: Path) -> None:
    write(tmp_path / "stand", torch="REAL = True")
    code = "import torch, cupy; print(torch.REAL, cupy.arange(3).sum())"
    assert run(tmp_path, "--keep", "torch", "-c", code, path=str(tmp_path / "stand")).stdout == "True 3\n"


def test_the_other_packages(tmp_path: Path) -> None:
    write(
        tmp_path,
        program="""
        import numpy as np
        import cupy as cp, cupyx
        import cupyx.scipy.special
        from cupyx.scipy.ndimage import gaussian_filter
        from numba import cuda, float32
        import numba.cuda.random
        import pycuda.autoinit
        from pycuda.compiler import SourceModule
        import pycuda.gpuarray as gpuarray

        @cuda.jit
        def double(a):
            i = cuda.grid(1)
            if i < a.size:
                a[i] *= 2

        a = np.arange(4.0)
        double[1, 4](a)
        print(a, cp.linalg.norm(cp.ones(4)), type(a).__module__)
        print(gpuarray.to_gpu(a).get(), cupyx.scipy.special.gamma(cp.array(5.0)))
    """,
    )
    assert run(tmp_path, "program.py").stdout == "[0. 2. 4. 6.] 2.0 numpy\n[0. 2. 4. 6.] 24.0\n"


def test_libraries_see_versions_and_specifications(tmp_path: Path) -> None:
    write(
        tmp_path,
        library="""
        import importlib.metadata, importlib.util
        assert importlib.util.find_spec("torch") is not None
        assert importlib.util.find_spec("torch.nn.functional").name
        assert importlib.util.find_spec("torch.no_such_part") is None
        VERSION = importlib.metadata.version("torch")
        assert "torch" in importlib.metadata.packages_distributions()
        assert importlib.metadata.metadata("torchvision")["Name"] == "torchvision"
        assert next(iter(importlib.metadata.distributions(name="torch"))).version == VERSION
        import torch
        assert importlib.util.find_spec("torch") is torch.__spec__
        assert VERSION == torch.__version__
    """,
    )
    code = "import library; print(library.VERSION)\ntry: import torch.no_such_part\nexcept ImportError as e: print(e)"
    assert run(tmp_path, "-c", code).stdout == "2.11.0+cuprous\nNo module named 'torch.no_such_part'\n"


def test_processes_that_a_program_starts_are_bound_too(tmp_path: Path) -> None:
    write(
        tmp_path,
        spawn="""
        import multiprocessing, pickle, subprocess, sys
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Squares(Dataset):
            def __len__(self): return 8
            def __getitem__(self, i): return torch.tensor([i * i])

        def work(tensor): 
            import torch.nn as nn
            return type(tensor) is torch.Tensor, (tensor * 2).tolist(), nn.Linear.__module__

        if __name__ == "__main__":
            for method in ("spawn", "forkserver", "fork"):
                with multiprocessing.get_context(method).Pool(1) as pool:
                    print(method, pool.apply(work, (torch.arange(2),)))
            loader = DataLoader(Squares(), batch_size=4, num_workers=2, multiprocessing_context="spawn")
            print([batch.flatten().tolist() for batch in loader])
            print(subprocess.run([sys.executable, "-c", "import torch; print(torch.__package__)"], capture_output=True,
                                 text=True).stdout.strip(), flush=True)
    """,
    )
    lines = run(tmp_path, "spawn.py").stdout.splitlines()
    answer = "(True, [0, 2], 'cuprous.torch.nn.modules.linear')"
    assert lines[:3] == [f"{method} {answer}" for method in ("spawn", "forkserver", "fork")]
    assert lines[3:] == ["[[0, 1, 4, 9], [16, 25, 36, 49]]", "cuprous.torch"]


def test_pickles_name_cuprous_and_are_read_without_the_binding(tmp_path: Path) -> None:
    write(
        tmp_path,
        dump="""
        import pickle, torch, torch.nn as nn
        pickle.dump([torch.arange(3), torch.float16, nn.functional.relu, nn.Linear], open("x.pickle", "wb"))
        torch.save({"a": torch.arange(3.0)}, "x.pt")
    """,
    )
    run(tmp_path, "dump.py")
    code = (
        "import pickle, cuprous.torch as torch\n"
        "a, dtype, relu, linear = pickle.load(open('x.pickle', 'rb'))\n"
        "print(a.tolist(), dtype, relu is torch.nn.functional.relu, linear is torch.nn.Linear, torch.load('x.pt'))"
    )
    assert start(tmp_path, "-c", code).stdout == "[0, 1, 2] torch.float16 True True {'a': tensor([0., 1., 2.])}\n"


def test_a_sitecustomize_of_the_user_runs_too(tmp_path: Path) -> None:
    write(tmp_path / "theirs", sitecustomize="import builtins; builtins.theirs = True")
    code = "import torch, sys; print(theirs, [p for p in sys.path if p.endswith('runner/site')])"
    assert run(tmp_path, "-c", code, path=str(tmp_path / "theirs")).stdout == "True []\n"


def test_numpy_is_bound_for_the_program_and_not_for_libraries(tmp_path: Path) -> None:
    write(
        tmp_path,
        helper="import numpy as np\nfrom numpy.random import default_rng",
        program="""
        import numpy as np
        import numpy.linalg as la
        from numpy.fft import fft
        import helper, cuprous, scipy.linalg, ml_dtypes
        a = np.ones((2, 2))
        print(type(a).__module__, type(helper.np.zeros(2)).__module__, la is cuprous.linalg, fft is cuprous.fft.fft)
        print(scipy.linalg.inv.__globals__["np"].__name__, cuprous.real_package("numpy").__name__, a.sum())
        try:
            import numpy.ma
        except ModuleNotFoundError as error:
            print(error)
    """,
    )
    done = run(tmp_path, "--bind", "numpy", "program.py")
    assert done.stdout == (
        "cuprous cuprous True True\nnumpy numpy 4.0\nNo module named 'numpy.ma' in Cuprous: "
        "use where, the nan-functions or a mask of your own\n"
    )
    assert done.stderr.startswith("cuprous: bound torch") and ", numpy (" in done.stderr


def test_relative_imports_are_the_programs_own(tmp_path: Path) -> None:
    own = "where = __name__"
    write(
        tmp_path / "package",
        {"sub/__init__": "from ..numpy import where as above"},
        __init__="",
        numpy=own,
        tensorflow=own,
        __main__="""
        import importlib
        from .numpy import where
        from . import tensorflow
        from .sub import above
        import numpy
        print(where, tensorflow.where, above, importlib.import_module(".numpy", __package__).where)
        print(type(numpy.ones(2)).__module__)
    """,
    )
    done = run(tmp_path, "--bind", "numpy", "-m", "package")
    assert done.stdout == "package.numpy package.tensorflow package.numpy package.numpy\ncuprous\n"


def test_modules_have_the_bound_names_while_they_are_bound(tmp_path: Path) -> None:
    write(
        tmp_path,
        program="""
        import sys
        import cuprous, torch, torchvision, torch.nn
        ours = sys.modules["cuprous.torch"]
        print(torch.__name__, torchvision.__name__, torch.__package__, torch is ours, sys.modules["torch"] is ours)
        cuprous.unbind()
        print(ours.__name__, sys.modules["cuprous.torchvision"].__name__, torch.ones(2).sum().item())
        cuprous.bind("torch", quiet=True)
        import torch as again
        print(again.__name__, again is ours, again.nn is torch.nn)
    """,
    )
    assert run(tmp_path, "program.py").stdout == (
        "torch torchvision cuprous.torch True True\ncuprous.torch cuprous.torchvision 2.0\ntorch True True\n"
    )


def test_the_launcher_of_ranks_binds(tmp_path: Path) -> None:
    write(
        tmp_path,
        ranks="""
        import torch, torch.distributed as dist
        dist.init_process_group("gloo")
        x = torch.ones(2) * (dist.get_rank() + 1)
        dist.all_reduce(x)
        if dist.get_rank() == 0: print(torch.__package__, x.tolist())
        dist.destroy_process_group()
    """,
    )
    command = ["-m", "cuprous.run", "--bind", "torch", "--standalone", "--nproc-per-node=2", "ranks.py"]
    done = start(tmp_path, *command)
    assert done.stdout == "cuprous.torch [3.0, 3.0]\n"
    assert done.stderr.count("cuprous: bound torch, torchvision") == 1
