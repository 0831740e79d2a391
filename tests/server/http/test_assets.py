"""The assets of the page: which files are served."""

from pathlib import Path

from priory.server.http.routes.login import _read_assets


def test_only_styles_scripts_and_pictures_are_served(tmp_path: Path) -> None:
    for name in ("style.css", "style.css~", ".style.css.swp", "notes.txt", "README"):
        (tmp_path / name).write_text(name)
    (tmp_path / "old.css").mkdir()
    assert set(_read_assets(tmp_path)) == {"style.css", "palette.css", "explanation.css"}
