"""The wheel, installed outside the repository, is the whole program: resources, command line and window."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import relpos_viewer


@dataclass(frozen=True)
class Installed:
    """An environment that holds the program's wheel and, borrowed from the running one, its dependencies."""

    bin: Path
    folder: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment from outside the repository, without a display."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return subprocess.run(
            [str(self.bin / command[0]), *command[1:]],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )


def _succeed(*command: str | Path, cwd: Path) -> None:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel made from the source archive, so that both are known to be complete."""
    folder = tmp_path_factory.mktemp("dist")
    _succeed(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=repository)
    (archive,) = folder.glob("*.tar.gz")
    pip_wheel = (sys.executable, "-m", "pip", "wheel", "--no-index", "--no-deps", "--no-build-isolation")
    _succeed(*pip_wheel, "-w", folder, archive, cwd=folder)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in an environment of its own."""
    folder = tmp_path_factory.mktemp("empty environment")
    venv.create(folder / "venv", with_pip=False)
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    pip = (sys.executable, "-m", "pip", "--python", scripts / "python")
    _succeed(*pip, "install", "--no-index", "--no-deps", wheel, cwd=folder)
    # A path file in the environment's own folder adds the dependencies without the path files beside them, so
    # the repository's editable installation stays out.
    place = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
    site = Path(sysconfig.get_path("purelib", "venv", vars=place))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return Installed(scripts, folder)


def test_the_wheel_holds_every_file_of_the_package_and_every_resource(wheel: Path, repository: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "relpos_viewer", "resources"], cwd=repository, capture_output=True, text=True
    )
    if tracked.returncode:
        pytest.skip("needs a git checkout to know which files belong to the program")
    wanted = {
        f"relpos_viewer/_{name}" if name.startswith("resources/") else name
        for name in tracked.stdout.splitlines()
        if (repository / name).exists()
    }
    with zipfile.ZipFile(wheel) as archive:
        missing = wanted - set(archive.namelist())
    assert any("_resources/" in name for name in wanted)
    assert not missing


def test_the_installed_program_is_not_the_repository(installed: Installed, repository: Path) -> None:
    done = installed.run(
        "python", "-c", "import relpos_viewer.resources as r; print(r.__file__); print(r.resource('icons'))"
    )
    assert done.returncode == 0, done.stderr
    module, icons = map(Path, done.stdout.splitlines())
    assert installed.folder in module.parents
    assert icons == module.parent / "_resources" / "icons"


def test_the_installed_program_tells_its_version(installed: Installed) -> None:
    done = installed.run("relpos-viewer", "--version")
    assert done.returncode == 0, done.stderr
    assert relpos_viewer.__version__ in done.stdout.split()


def test_the_installed_program_renders_a_figure(installed: Installed) -> None:
    picture = installed.folder / "figure.png"
    done = installed.run(
        "relpos-viewer", "render", "--text", "the cat sat on the mat", "--encoding", "t5", "-o", str(picture)
    )
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")


# Opens the program's window as its command does, saves what it shows, and closes it.
OPEN_LOOK_CLOSE = """
import sys
import torch
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from relpos_viewer.cli import main

app = QApplication(sys.argv[:1])

def look():
    shown = [window for window in app.topLevelWidgets() if window.isVisible()]
    if shown and shown[0].grab().save(sys.argv[1]):
        print(shown[0].windowTitle())
        timer.stop()
        app.closeAllWindows()

timer = QTimer()
timer.setInterval(300)
timer.timeout.connect(look)
timer.start()
status = main(["--text", "the cat sat on the mat"])
timer.stop()
sys.exit(status)
"""


def test_the_installed_program_opens_and_closes_its_window(installed: Installed) -> None:
    picture = installed.folder / "window.png"
    done = installed.run("python", "-c", OPEN_LOOK_CLOSE, str(picture))
    assert done.returncode == 0, done.stderr
    assert "relpos-viewer" in done.stdout
    assert picture.stat().st_size > 10_000  # an empty window of one colour is smaller


def test_importing_the_package_loads_neither_torch_nor_qt(installed: Installed) -> None:
    done = installed.run(
        "python",
        "-c",
        "import sys, relpos_viewer; dir(relpos_viewer); "
        "print(sorted({'torch', 'numpy', 'PySide6', 'matplotlib', 'pyqtgraph'} & sys.modules.keys()))",
    )
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_every_public_name_can_be_loaded(installed: Installed) -> None:
    done = installed.run(
        "python", "-c", "import relpos_viewer as rv; [getattr(rv, name) for name in rv.__all__]"
    )
    assert done.returncode == 0, done.stderr


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'atention'"):
        _ = relpos_viewer.atention
