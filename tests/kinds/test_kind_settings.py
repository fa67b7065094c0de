"""kinds.json under a running owner: edited, damaged, half wrong, and never taken for a consent it does not give."""

from __future__ import annotations

import json
import stat

import pytest
from slw.adapters.kind_settings import DEFAULTS, KindSettings, KindSettingsFile, to_notice
from slw.domain.errors import InvalidInput


@pytest.fixture
def path(tmp_path):
    return tmp_path / "kinds.json"


def write(path, text):
    beside = path.with_name("edited")
    beside.write_text(text if isinstance(text, str) else json.dumps(text))
    beside.replace(path)


def test_without_a_file_the_defaults_hold(path):
    settings = KindSettingsFile(path).read()
    assert settings == KindSettings() and settings.problems == ()
    assert (settings.backend, settings.hosted_consent, settings.display_min_confidence) == ("auto", False, 0.20)


def test_an_edit_is_seen_at_the_next_reading(path):
    file = KindSettingsFile(path)
    assert file.read().backend == "auto"
    write(path, {"backend": "rules", "display_min_confidence": 1})
    assert (file.read().backend, file.read().display_min_confidence) == ("rules", 1.0)
    path.unlink()
    assert file.read() == KindSettings()


def test_a_change_is_written_atomically_for_the_owner_alone_and_keeps_the_rest(path):
    file = KindSettingsFile(path)
    file.change({"backend": "off"})
    file.change({"hosted_consent": True})
    assert json.loads(path.read_text()) == {"backend": "off", "hosted_consent": True}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["kinds.json"]
    assert KindSettingsFile(path).read().backend == "off"


@pytest.mark.parametrize("consent", ["true", 1, 1.0, "yes", [True], {"yes": True}, None])
def test_only_the_literal_true_is_a_consent(path, consent):
    write(path, {"backend": "hosted", "hosted_consent": consent})
    settings = KindSettingsFile(path).read()
    assert settings.hosted_consent is False and settings.backend == "hosted"
    assert "hosted_consent" in settings.problems[0]
    with pytest.raises(InvalidInput):
        KindSettingsFile(path).change({"hosted_consent": consent})


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[]", "null", '"x"', "{}}", "\ud800".encode("utf-8", "surrogatepass"), "[" * 100_000, "x" * 70_000],
)
def test_a_damaged_file_means_safe_defaults_no_consent_and_standing_rules_as_they_were(path, damage):
    file = KindSettingsFile(path)
    write(path, {"backend": "hosted", "hosted_consent": True, "standing_rules_in_session": False})
    assert file.read().hosted_consent is True
    path.write_bytes(damage if isinstance(damage, bytes) else damage.encode())
    settings = file.read()
    assert (settings.backend, settings.hosted_consent) == ("auto", False)
    assert settings.standing_rules_in_session is False
    assert settings.problems and "standing rules stay off" in settings.problems[0]
    assert file.read() is settings


def test_a_file_that_was_damaged_before_the_owner_began_keeps_what_the_log_noticed(path):
    path.write_text("{")
    assert KindSettingsFile(path, last_good=False).read().standing_rules_in_session is False
    assert KindSettingsFile(path).read().standing_rules_in_session is True


def test_a_file_in_whose_place_something_else_stands_is_damaged_too(path):
    path.mkdir()
    settings = KindSettingsFile(path).read()
    assert settings.problems and settings == KindSettings()


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("enabled", "true"),
        ("enabled", 0),
        ("backend", "gpt"),
        ("backend", None),
        ("display_min_confidence", "0.5"),
        ("display_min_confidence", 1.1),
        ("display_min_confidence", -0.1),
        ("display_min_confidence", True),
        ("rate_per_second", -1),
        ("batch_size", 2.5),
        ("batch_size", 5_000),
        ("llm_url", 7),
        ("colour", "red"),
    ],
)
def test_a_bad_value_falls_back_alone_and_is_told(path, name, bad):
    write(path, {name: bad, "kind_aware": False})
    settings = KindSettingsFile(path).read()
    assert settings.kind_aware is False
    assert [name in p for p in settings.problems] == [True]
    if name in DEFAULTS:
        assert settings.values()[name] == DEFAULTS[name]
    with pytest.raises(InvalidInput) as refusal:
        KindSettingsFile(path).change({name: bad})
    assert refusal.value.field_errors[0].path == name


def test_not_a_number_is_no_confidence(path):
    write(path, '{"display_min_confidence": NaN}')
    assert KindSettingsFile(path).read().display_min_confidence == 0.20


def test_a_standing_rules_value_that_cannot_be_read_keeps_the_last_good_one(path):
    file = KindSettingsFile(path)
    write(path, {"standing_rules_in_session": False})
    assert file.read().standing_rules_in_session is False
    write(path, {"standing_rules_in_session": "sometimes"})
    assert file.read().standing_rules_in_session is False


def test_of_several_changes_one_of_which_is_wrong_none_is_written(path):
    file = KindSettingsFile(path)
    with pytest.raises(InvalidInput):
        file.change({"backend": "rules", "hosted_consent": "true"})
    assert not path.exists() and file.read().backend == "auto"


def test_changing_a_setting_makes_a_damaged_file_whole_again(path):
    path.write_text('{"hosted_consent": true, "backend": ')
    file = KindSettingsFile(path, last_good=False)
    assert file.change({"backend": "rules"}).problems == ()
    assert json.loads(path.read_text()) == {"backend": "rules", "standing_rules_in_session": False}


@pytest.mark.parametrize(("word", "backend"), [("laya", "local"), ("jev", "hosted")])
def test_other_names_of_backends_are_accepted(path, word, backend):
    assert KindSettingsFile(path).change({"backend": word}).backend == backend


def test_only_what_differs_from_what_the_log_knows_is_noticed():
    assert to_notice(KindSettings(), {}) == {}
    told = to_notice(KindSettings(backend="off"), {"kinds.enabled": False})
    assert told == {"kinds.backend": "off", "kinds.enabled": True}
