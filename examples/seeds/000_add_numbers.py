from cuprous import cuda
import numpy as np
@cuda.jit
def add_numbers(a, b, c):
    idx = cuda.grid(1)
    if idx < a.size:
        c[idx] = a[idx] + b[idx]
a = np.arange(1000000)
b = np.arange(1000000)
c = np.zeros(1000000)
add_numbers[1000, 1000](a, b, c)
print(c[:10])
