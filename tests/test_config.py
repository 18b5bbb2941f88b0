"""Settings: precedence, and mistakes that are named with what was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from wherefrom.config import Settings, from_mapping, names, resolve, to_mapping
from wherefrom.errors import SettingsError


def test_set_overrules_toml_overrules_defaults(tmp_path: Path) -> None:
    toml = tmp_path / "settings.toml"
    toml.write_text('[split]\nwords = 60\noverlap = 5\n[index]\nlanguage = "french"\n')
    settings = resolve(toml, ["split.words=80", "judge.min_chance = 1"])
    assert (settings.split.words, settings.split.overlap) == (80, 5)
    assert settings.index.language == "french"
    assert settings.judge.min_chance == 1.0
    assert settings.retrieve == Settings().retrieve


def test_settings_survive_the_way_to_a_mapping_and_back() -> None:
    settings = resolve(overrides=["split.words=50", "index.title=false", "write.style=passage"])
    assert from_mapping(to_mapping(settings)) == settings


def test_every_setting_can_be_set_to_its_own_default() -> None:
    for name in names():
        section, setting = name.split(".")
        value = to_mapping(Settings())[section][setting]
        written = str(value).lower() if isinstance(value, bool) else str(value)
        assert resolve(overrides=[f"{name}={written}"]) == Settings()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("split.wrds=3", "split.wrds is not a setting; did you mean split.words?"),
        ("splt.words=3", "'splt.words' is not a setting; did you mean split.words?"),
        ("words=3", "'words' is not a setting; did you mean split.words?"),
        ("judge.chance=0.5", "judge.chance is not a setting; did you mean judge.min_chance?"),
        ("read.words=5", "read.words is not a setting; did you mean split.words?"),
        ("split.words=many", "split.words must be a whole number, not 'many'"),
        ("split.words=1.5", "split.words must be a whole number, not 1.5"),
        ("split.words=true", "split.words must be a whole number, not True"),
        ("index.title=yes", "index.title must be true or false, not 'yes'"),
        ("judge.min_chance=high", "judge.min_chance must be a number, not 'high'"),
        ("judge.min_chance=1.5", "judge.min_chance is a probability from 0 to 1, not 1.5"),
        ("write.style=sentance", "did you mean sentence?"),
        ("index.language=englsh", "did you mean english?"),
        ("retrieve.k=0", "retrieve.k must be above 0, not 0"),
        ("split.overlap=100", "split.overlap must be at least 0 and below split.words"),
        ("split.section=-1", "split.section must be at least 0, not -1"),
        ("split.words", "does not say a value"),
        ("a.b.c=1", "is not a setting"),
        ("=1", "is not a setting"),
    ],
)
def test_a_mistake_is_named_with_what_was_meant(override: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        resolve(overrides=[override])
    assert message in str(caught.value)


def test_mistakes_in_a_file_name_the_file(tmp_path: Path) -> None:
    toml = tmp_path / "settings.toml"
    toml.write_text("[split]\nwrds = 60\n")
    with pytest.raises(SettingsError, match=r"did you mean split.words\? \(in .*settings.toml\)"):
        resolve(toml)
    toml.write_text("split = 60\n")
    with pytest.raises(SettingsError, match="split is a section of settings"):
        resolve(toml)
    toml.write_text("[split\n")
    with pytest.raises(SettingsError, match="is not TOML"):
        resolve(toml)
    with pytest.raises(SettingsError, match="cannot read the settings file"):
        resolve(tmp_path / "missing.toml")
