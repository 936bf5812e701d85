import numpy as np
import cuprous as cp
import time

# Example 1: NumPy (CPU-based)
size = 2000
matrix_a_cpu = np.random.rand(size, size)
matrix_b_cpu = np.random.rand(size, size)

start_time = time.time()
result_cpu = np.dot(matrix_a_cpu, matrix_b_cpu)
cpu_time = time.time() - start_time
print(f"CPU time: {cpu_time:.4f} seconds")


# Example 2: CuPy (GPU-based)
matrix_a_gpu = cp.asarray(matrix_a_cpu) # copy CPU array to GPU array
matrix_b_gpu = cp.asarray(matrix_b_cpu)

start_time = time.time()
result_gpu = cp.dot(matrix_a_gpu, matrix_b_gpu)
cp.cuda.runtime.deviceSynchronize() # wait for GPU computation to finish
gpu_time = time.time() - start_time
print(f"GPU time: {gpu_time:.4f} seconds")

# Verify correctness
assert np.allclose(cp.asnumpy(result_gpu), result_cpu) # convert GPU back to CPU for comparison
