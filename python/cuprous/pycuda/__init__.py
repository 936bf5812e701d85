"""PyCUDA's modules: `import cuprous.pycuda.driver as drv` for `import pycuda.driver as drv`.

CUDA C++ runs on a GPU only; memory, arrays and all that is no CUDA C++ work on the CPU too.
"""

VERSION = (2026, 1)
VERSION_STATUS = ""
VERSION_TEXT = ".".join(map(str, VERSION))
