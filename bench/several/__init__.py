"""Several GPUs: the processes and programs of `python -m bench.several_gpus`."""
