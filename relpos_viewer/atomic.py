"""Writing a file so that a reader, a crash or a full disk never sees half of it.

One function for everything that leaves the program: figures, arrays, sessions.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from relpos_viewer.core.errors import ViewerError


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield an empty temporary file beside ``path``; it takes the place of ``path`` on success.

    The temporary file has the suffix of ``path`` (writers look at it). When the block ends well it
    is fsynced and renamed over the target in one step, so a kill in the middle leaves the old file.
    When the block raises, the temporary file is removed and the old file is untouched.
    A symbolic link is followed; the permissions of an existing target are kept.

    Raises ViewerError where the target cannot be written: no such folder, a folder or a device in
    its place, a read-only file, a full disk. Any thread may call it.
    """
    target = _target(path)
    temporary = target.with_name(f".{secrets.token_hex(6)}{target.suffix}")
    try:
        # O_EXCL with mode 0o666: the umask applies without being read, which no thread can do safely.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        with suppress(FileNotFoundError):
            temporary.chmod(target.stat().st_mode & 0o7777)
        yield temporary
        _sync(temporary, os.O_RDWR)
        os.replace(temporary, target)  # noqa: PTH105  the call that tests interrupt
        if os.name == "posix":
            _sync(target.parent, os.O_RDONLY)
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _target(path: str | os.PathLike[str]) -> Path:
    """The file that will really be replaced, checked before any work is done for it."""
    if not os.fspath(path):
        raise ViewerError("The name of the file to write is empty; give a name.")
    try:
        target = Path(path).resolve()
        if not target.parent.is_dir():
            raise ViewerError(
                f"Cannot write '{path}': the folder '{target.parent}' does not exist; make it first or choose another."
            )
        if target.is_dir():
            raise ViewerError(f"Cannot write '{path}': it is a folder; give the name of a file.")
        if target.exists() and not target.is_file():
            # os.replace would put a plain file where a device or a pipe was.
            raise ViewerError(f"Cannot write '{path}': it is no regular file; give the name of a file.")
        if target.exists() and not (os.access(target, os.W_OK) and target.stat().st_mode & 0o222):
            # A rename would succeed (and root may write anything), but whoever made the file
            # read-only did not want that.
            raise _unwritable(path, "the file is read-only")
    except (OSError, RuntimeError, ValueError) as error:  # loops of links, NUL in the name
        if isinstance(error, ViewerError):
            raise
        raise _unwritable(path, getattr(error, "strerror", None) or str(error)) from error
    return target


def _unwritable(path: str | os.PathLike[str], reason: str) -> ViewerError:
    return ViewerError(f"Cannot write '{path}': {reason}; choose another place or name.")


def _sync(path: Path, access: int) -> None:
    descriptor = os.open(path, access)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
