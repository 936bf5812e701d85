"""`torch.hub` with local files: nothing is downloaded."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from cuprous.torch._placeholders import UnsupportedError
from cuprous.torch.serialization import load as load_file

#: The part of a file's name that is the beginning of its checksum.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_folder: list[str] = []


def _get_torch_home() -> str:
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """Returns the folder of models: `$TORCH_HOME/hub`, by default `~/.cache/torch/hub`.

    Returns
    -------
    str
        A path.

    See Also
    --------
    torch.hub.set_dir

    Examples
    --------
    >>> folder = torch.hub.get_dir()
    """
    return _folder[0] if _folder else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Sets the folder of models.

    Parameters
    ----------
    d : str or path-like
        The folder.

    See Also
    --------
    torch.hub.get_dir

    Examples
    --------
    >>> torch.hub.set_dir(torch.hub.get_dir())
    """
    _folder[:] = [os.path.expanduser(str(d))]


def load_state_dict_from_url(url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True,
                             check_hash: bool = False, file_name: str | None = None,
                             weights_only: bool = True) -> dict[str, Any]:  # fmt: skip
    """Returns the tensors of the file to which PyTorch would download a URL, if it is there.

    Parameters
    ----------
    url : str
        Where PyTorch finds the file; its last part is the file's name.
    model_dir : str, optional
        The folder, by default `checkpoints` in `get_dir()`.
    map_location : callable, device, str or dict, optional
        See `torch.load`.
    progress : bool, default True
        Has no effect: nothing is downloaded.
    check_hash : bool, default False
        Whether to compare the file's checksum with the beginning of it that its name has.
    file_name : str, optional
        Another name.
    weights_only : bool, default True
        See `torch.load`.

    Returns
    -------
    dict
        A dict of tensors by name.

    Raises
    ------
    UnsupportedError
        If the file is not there.
    RuntimeError
        If the checksum differs.

    See Also
    --------
    torch.hub.download_url_to_file, torch.hub.load, torch.load

    Examples
    --------
    >>> torch.hub.load_state_dict_from_url("https://host/resnet18-f37072fd.pth")  # doctest: +SKIP
    """
    folder = Path(model_dir) if model_dir is not None else Path(get_dir()) / "checkpoints"
    path = folder / (file_name or os.path.basename(urlparse(url).path))
    if not path.is_file():
        raise UnsupportedError(f"[torch.hub] {url} is not downloaded: put the file at {path}")
    if check_hash and (named := HASH_REGEX.search(path.name)):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if not digest.startswith(named[1]):
            raise RuntimeError(f'invalid hash value (expected "{named[1]}", got "{digest}")')
    found: dict[str, Any] = load_file(str(path), map_location=map_location, weights_only=weights_only)
    return found


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Raises an error, because nothing is downloaded.

    Parameters
    ----------
    url : str
        The address.
    dst : str
        The path.
    hash_prefix : str, optional
        The beginning of the file's checksum.
    progress : bool, default True
        Whether progress is shown.

    Raises
    ------
    UnsupportedError
        Always.

    See Also
    --------
    torch.hub.load_state_dict_from_url

    Examples
    --------
    >>> torch.hub.download_url_to_file("https://host/file", "file")  # doctest: +SKIP
    """
    raise UnsupportedError(f"[torch.hub] {url} is not downloaded: put the file at {dst}")


def _hubconf(repo_or_dir: str, source: str) -> Any:
    if source != "local":
        raise UnsupportedError(
            f"[torch.hub] {repo_or_dir} is not downloaded: clone it, and pass its folder with source='local'"
        )
    path = os.path.join(os.path.expanduser(repo_or_dir), "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(path))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(os.path.dirname(path))
    return module


def list(github: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = None,
         verbose: bool = True, source: str = "github") -> Sequence[str]:  # fmt: skip
    r"""Returns the names of the models that a local folder's `hubconf.py` defines.

    Parameters
    ----------
    github : str
        The folder.
    force_reload : bool, default False
        Has no effect: nothing is downloaded.
    skip_validation : bool, default False
        Has no effect: nothing is downloaded.
    trust_repo : bool, optional
        Has no effect: nothing is downloaded.
    verbose : bool, default True
        Has no effect.
    source : str, default "github"
        "local"; others are refused.

    Returns
    -------
    sequence of str
        A list of strings.

    See Also
    --------
    torch.hub.help, torch.hub.load

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "hubconf.py").write_text("def line(n):\n    'A line.'\n    return n\n")
    >>> torch.hub.list(str(folder), source="local")
    ['line']
    """
    module = _hubconf(github, source)
    return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]


def help(github: str, model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = None,
         source: str = "github") -> str | None:  # fmt: skip
    r"""Returns the docstring of a model of a local folder's `hubconf.py`.

    Parameters
    ----------
    github : str
        The folder.
    model : str
        The name.
    force_reload : bool, default False
        Has no effect: nothing is downloaded.
    skip_validation : bool, default False
        Has no effect: nothing is downloaded.
    trust_repo : bool, optional
        Has no effect: nothing is downloaded.
    source : str, default "github"
        "local"; others are refused.

    Returns
    -------
    str or None
        A string, or None.

    See Also
    --------
    torch.hub.list, torch.hub.load

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "hubconf.py").write_text("def line(n):\n    'A line.'\n    return n\n")
    >>> torch.hub.help(str(folder), "line", source="local")
    'A line.'
    """
    doc: str | None = getattr(_hubconf(github, source), model).__doc__
    return doc


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    r"""Returns what a model's function in a local folder's `hubconf.py` returns.

    Parameters
    ----------
    repo_or_dir : str
        The folder.
    model : str
        The name.
    *args : any
        The arguments of the function.
    source : str, default "github"
        "local"; others are refused.
    trust_repo : bool, optional
        Has no effect: nothing is downloaded.
    force_reload : bool, default False
        Has no effect: nothing is downloaded.
    verbose : bool, default True
        Has no effect.
    skip_validation : bool, default False
        Has no effect: nothing is downloaded.
    **kwargs : any
        Its keyword arguments.

    Returns
    -------
    Tensor
        The result of the function.

    Raises
    ------
    RuntimeError
        If the folder defines no such model.
    UnsupportedError
        For a repository that would be downloaded.

    See Also
    --------
    torch.hub.list, torch.hub.help, torch.hub.load_state_dict_from_url

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "hubconf.py").write_text("def line(n):\n    'A line.'\n    return n\n")
    >>> torch.hub.load(str(folder), "line", 5, source="local")
    5
    """
    entry = getattr(_hubconf(repo_or_dir, source), model, None)
    if not callable(entry):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return entry(*args, **kwargs)


__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]
