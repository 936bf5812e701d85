"""PyCUDA's modules: replace `import pycuda.driver as drv` by `import cuprous.pycuda.driver as drv`.

CUDA C++ needs a GPU; memory, arrays and everything else that involves no CUDA C++ also run on the CPU.
"""

VERSION = (2026, 1)
VERSION_STATUS = ""
VERSION_TEXT = ".".join(map(str, VERSION))
