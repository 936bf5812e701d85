"""`cuprous demo`: well-known workloads on this machine, NumPy beside Cuprous on the CPU and on the GPU."""
