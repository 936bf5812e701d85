"""Short-time Fourier transforms."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _creation, fft
from cuprous.torch._args import by_name
from cuprous.torch._joining import stack
from cuprous.torch._pointwise import complex as make_complex
from cuprous.torch.nn import _convolution
from cuprous.torch.nn._padding import pad


def _window(window: Any, n_fft: int, win_length: int, like: Any) -> Any:
    """Returns the window, extended by zeros on both sides to `n_fft`."""
    if window is None:
        window = _creation.ones(win_length, dtype=like.real.dtype, device=like.device)
    if window.ndim != 1 or window.shape[0] != win_length:
        raise RuntimeError(f"expected a 1D window tensor of size equal to win_length={win_length}, but got window with "
                           f"size {list(window.shape)}")  # fmt: skip
    left = (n_fft - win_length) // 2
    return pad(window, (left, n_fft - win_length - left)) if win_length < n_fft else window


def stft(input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
         window: Tensor | None = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
         onesided: bool | None = None, return_complex: bool | None = None,
         align_to_window: bool | None = None) -> Tensor:  # fmt: skip
    """Returns the short-time Fourier transform of signals (length) or (batch, length).

    Parameters
    ----------
    input : Tensor
        The signals.
    n_fft : int
        The length of a transform.
    hop_length : int, optional
        The distance of two windows, by default a quarter of `n_fft`.
    win_length : int, optional
        The length of the window, by default `n_fft`.
    window : Tensor, optional
        The window, by default ones.
    center : bool, default True
        Whether windows are centered at their positions; the signal is extended by `pad_mode`.
    pad_mode : {"reflect", "constant", "replicate"}, default "reflect"
        "reflect", "constant" or "replicate".
    normalized : bool, default False
        Whether to divide by the square root of `n_fft`.
    onesided : bool, optional
        Whether to return only the half of the frequencies that real signals have; the default for them.
    return_complex : bool, optional
        Whether to return complex numbers, or real and imaginary parts in a last dimension.
    align_to_window : bool, optional
        For PyTorch's signature; only None and False.

    Returns
    -------
    Tensor
        (batch, frequencies, windows).

    Raises
    ------
    RuntimeError
        For sizes that do not fit, or without `return_complex` for real signals.

    See Also
    --------
    torch.istft, torch.fft.rfft, torch.hann_window

    Examples
    --------
    >>> signal = torch.ones(8)
    >>> torch.stft(signal, n_fft=4, window=torch.ones(4), return_complex=True).shape
    torch.Size([3, 9])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        if not is_complex:
            raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further "
                               "require that return_complex=True in a future PyTorch release.")  # fmt: skip
        return_complex = True
    if input.ndim not in (1, 2):
        raise RuntimeError(f"stft expects a 1D or 2D tensor, but got a {input.ndim}D tensor")
    if hop <= 0 or not 0 < length <= n_fft:
        raise RuntimeError(f"stft expects 0 < hop_length and 0 < win_length <= n_fft, got hop_length={hop}, "
                           f"win_length={length}, n_fft={n_fft}")  # fmt: skip
    if align_to_window:
        raise NotImplementedError("[stft] align_to_window=True is not supported")
    x = input if input.ndim == 2 else input[None]
    weights = _window(window, n_fft, length, x)
    if center:
        half = n_fft // 2
        x = pad(x[:, None], (half, half), mode=pad_mode)[:, 0]
    if x.shape[1] < n_fft:
        raise RuntimeError(f"stft expects a signal of at least n_fft={n_fft} elements, got {x.shape[1]}")
    frames = x.unfold(1, n_fft, hop) * weights
    half_only = (not is_complex) if onesided is None else onesided
    norm = "ortho" if normalized else "backward"
    result = fft.rfft(frames, norm=norm) if half_only else fft.fft(frames, norm=norm)
    result = result.transpose(1, 2)
    result = result if input.ndim == 2 else result[0]
    if return_complex:
        return result
    return stack([result.real, result.imag], -1)


def istft(input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
          window: Tensor | None = None, center: bool = True, normalized: bool = False, onesided: bool | None = None,
          length: int | None = None, return_complex: bool = False) -> Tensor:  # fmt: skip
    """Returns the signals whose short-time Fourier transform is nearest to the input: the inverse of `stft`.

    Parameters
    ----------
    input : Tensor
        (frequencies, windows) or (batch, frequencies, windows), complex.
    n_fft : int
        The length of a transform.
    hop_length : int, optional
        The distance of two windows, by default a quarter of `n_fft`.
    win_length : int, optional
        The length of the window, by default `n_fft`.
    window : Tensor, optional
        The window, by default ones.
    center : bool, default True
        Whether windows are centered at their positions.
    normalized : bool, default False
        Whether the transform was divided by the square root of `n_fft`.
    onesided : bool, optional
        Whether the input is only the half of the frequencies; the default for real signals.
    length : int, optional
        The length of the signals.
    return_complex : bool, default False
        Whether the signals are complex.

    Returns
    -------
    Tensor
        A tensor of shape (length) or (batch, length).

    Raises
    ------
    RuntimeError
        If the input is not complex, or the window is zero somewhere in all windows.

    See Also
    --------
    torch.stft, torch.fft.irfft, torch.hann_window

    Examples
    --------
    >>> x = torch.arange(8.0)
    >>> spectrum = torch.stft(x, n_fft=4, window=torch.ones(4), return_complex=True)
    >>> torch.allclose(torch.istft(spectrum, n_fft=4, window=torch.ones(4)), x, atol=1e-5)
    True
    """
    if not input.is_complex():
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with "
                           "return_complex=True.")  # fmt: skip
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    x = input if input.ndim == 3 else input[None]
    half_only = (x.shape[1] != n_fft) if onesided is None else onesided
    norm = "ortho" if normalized else "backward"
    columns = x.transpose(1, 2)
    weights = _window(window, n_fft, size, x)
    if return_complex:
        frames: Any = fft.ifft(columns, norm=norm)
    elif half_only:
        frames = fft.irfft(columns, n_fft, norm=norm)
    else:  # a real signal has the other half of its frequencies from the first one
        frames = fft.irfft(columns[..., : n_fft // 2 + 1], n_fft, norm=norm)
    frames = frames * weights
    count = frames.shape[1]
    total = n_fft + hop * (count - 1)
    envelope = _added((weights * weights).expand(1, count, n_fft), total, hop)
    if return_complex:
        joined = make_complex(_added(frames.real, total, hop), _added(frames.imag, total, hop))
    else:
        joined = _added(frames, total, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else (total - n_fft // 2 if center else total)
    kept, scale = joined[:, start:end], envelope[:, start:end]
    if float(scale.abs().min()) < 1e-11:
        raise RuntimeError("window overlap add min: 0")
    kept = kept / scale
    if length is not None and kept.shape[1] < length:
        kept = pad(kept, (0, length - kept.shape[1]))
    return kept if input.ndim == 3 else kept[0]


def _added(frames: Any, total: int, hop: int) -> Any:
    """Returns the sums of overlapping frames (batch, count, size)."""
    columns = frames.transpose(1, 2)
    return _convolution.fold(columns, (1, total), (1, frames.shape[-1]), stride=(1, hop))[:, 0, 0]


FUNCTIONS = METHODS = by_name(stft, istft)
