"""Settings survive a run, and damage to them costs no more than the damaged value."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray, QSettings

from relpos_viewer.app.settings import Settings


@pytest.fixture
def file(tmp_path) -> Path:
    return tmp_path / "settings.ini"


def opened(file: Path) -> Settings:
    return Settings(QSettings(str(file), QSettings.Format.IniFormat))


@pytest.mark.parametrize(
    ("name", "value", "at_first"),
    [
        ("geometry", QByteArray(b"\x01\x00\xffgeometry"), QByteArray()),
        ("state", QByteArray(b"\x00state"), QByteArray()),
        ("theme", "dark", "system"),
        ("device", "cuda:1", "cpu"),
        ("figure", {"dpi": 300, "title": "a “b”, c", "panels": ["scores"]}, {}),
    ],
)
def test_a_value_is_there_in_the_next_run(file, name, value, at_first):
    settings = opened(file)
    assert getattr(settings, name) == at_first
    setattr(settings, name, value)
    settings.sync()
    assert getattr(opened(file), name) == value


def test_the_users_settings_lie_in_the_users_folder(own_settings):
    settings = Settings.of_user()
    settings.theme = "light"
    settings.sync()
    assert [path.name for path in own_settings.rglob("*.ini")] == ["relpos-viewer.ini"]


DAMAGE = {
    "noise": b"\x00\xff\xfe[[[=\n=\n",
    "wrong kinds": (
        b"[General]\ntheme=@Variant(\\0\\0)\ndevice=7, 8\nfolder=@Invalid()\nrecent=a, b\nanswers={}\nfigure=[1]\n"
        b"[window]\ngeometry=text\nstate=1, 2\n"
    ),
    "json of wrong kinds": (
        b'[General]\ntheme=pink\nrecent="[1, null, {}, \\"\\", \\"a\\\\u0000b\\"]"\n'
        b'answers="[1, {\\"path\\": 3}, {\\"path\\": \\"/x\\", \\"options\\": [1]}]"\nfolder=/no/such/folder\n'
    ),
    "deep json": b'[General]\nrecent="' + b"[" * 100_000 + b'"\nfigure="' + b"[" * 100_000 + b'"\n',
}


@pytest.mark.parametrize("content", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_values_count_as_never_set(file, content):
    file.write_bytes(content)
    settings = opened(file)
    assert settings.theme == "system"
    assert isinstance(settings.device, str)
    assert isinstance(settings.geometry, QByteArray)
    assert isinstance(settings.state, QByteArray)
    assert settings.folder == str(Path.home())
    assert settings.recent_files == []
    assert settings.answers("/x") == {}
    assert settings.figure == {}
    settings.add_recent(file)
    settings.remember_answers(file, {"order": "BHSD"})
    settings.sync()
    assert opened(file).recent_files == [str(file)]
    assert opened(file).answers(file) == {"order": "BHSD"}


def test_each_dialog_has_a_place_of_its_own(file):
    settings = opened(file)
    settings.set_dialog_place("fitDialog", (-40, 12, 700, 512))
    settings.sync()
    assert opened(file).dialog_place("fitDialog") == (-40, 12, 700, 512)
    assert opened(file).dialog_place("helpDialog") is None


@pytest.mark.parametrize(
    "kept", ["[1, 2, 3]", "[1, 2, 0, 4]", "[1, 2, 3.5, 4]", "[true, 2, 3, 4]", "[1, 2, 1e9, 4]", "text", "{}"]
)
def test_a_damaged_place_of_a_dialog_counts_as_never_set(file, kept):
    store = QSettings(str(file), QSettings.Format.IniFormat)
    store.setValue("dialogs/fitDialog", kept)
    assert Settings(store).dialog_place("fitDialog") is None


def test_an_unknown_theme_is_refused(file):
    with pytest.raises(ValueError, match="pink"):
        opened(file).theme = "pink"


def test_recent_files_are_the_last_ten_newest_first_each_once(file, tmp_path):
    settings = opened(file)
    paths = [tmp_path / f"{index} é, ü.relpos" for index in range(12)]
    for path in paths:
        path.touch()
        settings.add_recent(path)
    settings.add_recent(paths[5])
    settings.sync()
    newest = [paths[5], *(paths[index] for index in (11, 10, 9, 8, 7, 6, 4, 3, 2))]
    assert opened(file).recent_files == [str(path) for path in newest]


def test_a_recent_file_that_is_gone_is_not_shown_until_it_is_back(file, tmp_path):
    settings = opened(file)
    here, gone = tmp_path / "here.relpos", tmp_path / "gone.relpos"
    here.touch()
    settings.add_recent(gone)
    settings.add_recent(here)
    assert settings.recent_files == [str(here)]
    gone.touch()
    assert settings.recent_files == [str(here), str(gone)]


def test_a_single_recent_file_is_a_list_and_none_is_an_empty_one(file, tmp_path, monkeypatch):
    (tmp_path / "one.txt").touch()
    monkeypatch.chdir(tmp_path)
    settings = opened(file)
    settings.add_recent("one.txt")
    settings.sync()
    assert opened(file).recent_files == [str(tmp_path / "one.txt")]
    settings.clear_recent()
    settings.sync()
    assert opened(file).recent_files == []


def test_a_folder_that_is_gone_gives_way_to_the_home(file, tmp_path):
    settings = opened(file)
    settings.folder = tmp_path
    assert settings.folder == str(tmp_path)
    settings.folder = tmp_path / "gone"
    assert settings.folder == str(Path.home())


def test_answers_belong_to_their_file_and_can_be_forgotten(file, tmp_path):
    settings = opened(file)
    settings.remember_answers(tmp_path / "a.npz", {"order": "BHSD", "role": "scores"})
    settings.remember_answers(tmp_path / "b.npz", {"order": "BSHD"})
    assert settings.answers(tmp_path / "a.npz") == {"order": "BHSD", "role": "scores"}
    settings.remember_answers(tmp_path / "a.npz", {"order": "BSHD"})
    assert settings.answers(tmp_path / "a.npz") == {"order": "BSHD"}
    settings.remember_answers(tmp_path / "a.npz", {})
    assert settings.answers(tmp_path / "a.npz") == {}
    assert settings.answers(tmp_path / "b.npz") == {"order": "BSHD"}


def test_answers_are_kept_for_the_last_hundred_files(file, tmp_path):
    settings = opened(file)
    for index in range(105):
        settings.remember_answers(tmp_path / f"{index}.npz", {"order": "BHSD"})
    assert settings.answers(tmp_path / "4.npz") == {}
    assert settings.answers(tmp_path / "5.npz") == {"order": "BHSD"}
