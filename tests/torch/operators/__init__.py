"""Every operator and module on the samples of PyTorch's own tests (`torch.testing._internal`).

`record` runs where PyTorch is installed and writes arguments, results, gradients and errors to a folder; `compare`
calls the same functions of Cuprous with the same arguments. What differs and may is listed in `remainder.txt`, with
reasons. `make oracle` runs both.
"""
