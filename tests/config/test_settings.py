import tomllib
from dataclasses import fields, replace
from pathlib import Path

import pytest

from priory.config import ConfigError, load, load_serving, parse
from priory.config.parse import load_toml, parse_all, serving_in
from priory.config.reference import markdown_table
from priory.config.settings import SECTIONS, SETTINGS, settings
from priory.features import KINDS, Spec
from priory.filter.options import Options, SilenceRules, SpoolLimits
from priory.imap.account import PORTS, Account
from priory.server.options import Policy, ServeOptions


def parse_serving(text: str) -> ServeOptions:
    return serving_in(load_toml(text))


def test_an_empty_configuration_is_the_default(tmp_path):
    assert load(tmp_path / "priory.toml") == Options()
    assert parse("") == Options()


def test_costs_labels_features_and_patterns_are_read():
    options = parse("""
        labels = ["ham", "spam", "newsletter"]
        [costs]
        unsure = 2
        newsletter = { ham = 5 }
        [features]
        triple = true
        markup = false
        [patterns]
        name = '(?i)dear ada'
        [table]
        bits = 26
        personal_bits = 24
    """)
    assert options.labels == ("ham", "spam", "newsletter")
    assert options.costs.matrix == ((0, 10, 10), (100, 0, 10), (5, 10, 0))
    assert options.costs.unsure == 2
    assert options.spec.kinds == frozenset(KINDS) - {"markup"}
    assert options.spec.patterns == {"name": "(?i)dear ada"}
    assert (options.spec.bits, options.personal_bits) == (26, 24)
    assert "triple" not in Spec().kinds


def test_silence_counts_after_some_days_and_is_learned_unless_that_is_switched_off():
    assert parse("").silence == SilenceRules(days=3, learns=True)
    assert parse("[silence]\ndays = 7\nlearn = false").silence == SilenceRules(days=7, learns=False)


def test_subjects_are_stored_only_where_that_is_switched_on():
    assert not parse("").keeps_subjects
    assert parse("[journal]\nsubjects = true").keeps_subjects


def test_no_mail_is_stored_unless_a_size_says_so():
    assert parse("[ask]\nage = '3 days'").spool is None
    assert parse("[ask]\nspool = '20 MB'").spool == SpoolLimits(20_000_000, 7 * 86_400)
    assert parse("[ask]\nspool = '1 GB'\nage = '2 weeks'").spool == SpoolLimits(10**9, 14 * 86_400)


def test_nothing_is_promised_about_lost_ham_unless_it_is_set():
    assert parse("").ham_lost is None
    assert parse("[promise]\nham_lost = 0.001").ham_lost == 0.001


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[ask]\nspool = true", '[ask] spool must be a number and one of kB, MB, GB, TB, such as "20 MB", not True'),
        ("[ask]\nage = 7", '[ask] age must be a number and one of day, week, month, year, such as "7 days", not 7'),
        ("labels = 'ham'", 'labels must be a list of names of letters, digits, - and _, such as ["ham", "spam"]'),
        ("labels = ['ham']", "labels must be two or more different names, none of them 'unsure'"),
        ("labels = ['ham', 'unsure']", "none of them 'unsure'"),
        ("[costs]\nspma = { ham = 1 }", "unknown key 'spma'; did you mean 'spam'?"),
        ("[costs]\nspam = 5", "[costs] spam must be a table, spam = { … }, not 5"),
        ("[costs]\nspam = { ham = -1 }", "the cost of spam when ham is true must be a number from 0 up, not -1"),
        (f"[costs]\nunsure = {'9' * 400}", "the cost of unsure must be a number from 0 up, not 999"),
        (f"[costs]\nunsure = {'9' * 5000}", "a number has thousands of digits; write a smaller one"),
        (f"labels = {'[' * 5000}", "tables or lists are nested too deeply; flatten them"),
        ("[costs]\nunsure = true", "the cost of unsure must be a number from 0 up, not True"),
        ("[features]\nword = 1", "[features] word must be true or false, not 1"),
        ("[table]\nbits = 29", "[table] bits must be a whole number from 16 to 28, not 29"),
        ("[table]\npersonal_bits = 1", "[table] personal_bits must be a whole number from 16 to 28, not 1"),
        ("[table]\nbits = true", "[table] bits must be a whole number from 16 to 28, not True"),
        ("[table]\nbuckets = 1", "[table] unknown key 'buckets'; known are bits, personal_bits"),
        ("[features]\nwrods = true", "unknown key 'wrods'; did you mean 'word'?"),
        ("labels = ['sp am', 'ham']", "labels must be a list of names of letters, digits, - and _"),
        ("[silence]\ndays = 0", "[silence] days must be a whole number from 1 to 60, not 0"),
        ("[silence]\ndays = 61", "[silence] days must be a whole number from 1 to 60, not 61"),
        ("[journal]\nsubjects = 'yes'", "[journal] subjects must be true or false, not 'yes'"),
        ("[silence]\nlearn = 1", "[silence] learn must be true or false, not 1"),
        ("[silence]\nday = 9", "[silence] unknown key 'day'; did you mean 'days'?"),
        (
            "[autolearn]\non = true",
            "unknown key 'autolearn'; remove this section; [silence] has replaced it",
        ),
        ("[promise]\nham_lost = 0", "[promise] ham_lost must be a probability from 0.00001 to below 1, not 0"),
        ("[promise]\nlost_ham = 0.1", "[promise] unknown key 'lost_ham'; known are ham_lost"),
        ("[patterns]\n'' = 'a'", "[patterns] '' is not a name; use letters, digits, - and _"),
        ("[patterns]\nx = 1", "[patterns] x must be a regular expression in quotes, not 1"),
        ("[patterns]\nx = '(a'", "pattern 'x': missing ): (a"),
        ("[patterns]\nx = '(?=a)'", "Patterns are RE2 expressions: no look-around, no back-references."),
    ],
)
def test_invalid_values_are_refused_with_the_key(text, said):
    with pytest.raises(ConfigError) as refused:
        parse(text)
    assert said in str(refused.value)


def test_a_syntax_error_is_reported_with_file_and_line(tmp_path):
    (tmp_path / "priory.toml").write_text("[costs\n")
    with pytest.raises(ConfigError, match=r"priory.toml:1: this is not TOML: .*, in column 7"):
        load(tmp_path / "priory.toml")
    (tmp_path / "priory.toml").write_bytes(b"\xef\xbb\xbf[costs]\nunsure = 2\n")  # as some editors begin a file
    assert load(tmp_path / "priory.toml").costs.unsure == 2
    (tmp_path / "priory.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "priory.toml")


def test_the_first_label_has_the_highest_cost_whatever_its_name():
    assert parse('labels = ["good", "junk"]').costs.matrix == ((0, 10), (100, 0))
    assert parse('labels = ["ham", "spam", "news"]').costs.matrix == ((0, 10, 10), (100, 0, 10), (100, 10, 0))


def test_the_daemon_has_settings_of_its_own(tmp_path):
    assert (
        load_serving(tmp_path / "priory.toml")
        == parse_serving("")
        == parse_serving("[costs]\nunsure = 2")
        == ServeOptions()
    )
    assert parse('[spamd]\nlisten = "127.0.0.1:783"') == Options()
    every = """
        [spamd]
        listen = ["127.0.0.1:783", "[::1]:783", "localhost:0", "/run/priory/socket"]
        [milter]
        listen = "127.0.0.1:7357"
        reject = { ham = 1000, spam = -1 }
        check_authenticated = true
        [serve]
        workers = 3
        max_connections = 10
        max_bytes = 1_000
        timeout = 5
    """
    listen = ("127.0.0.1:783", "[::1]:783", "localhost:0", "/run/priory/socket")
    policy = Policy(reject={"ham": 1000, "spam": -1}, checks_authenticated=True)
    assert parse_serving(every) == ServeOptions(listen, ("127.0.0.1:7357",), policy, 3, 10, 1000, 5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("spamd = 1", "spamd must be a section, [spamd], not 1"),
        ('[spamd]\nlisten = "/run/a\\u0000b"', "is not an address"),
        ("[spamd]\nlisen = ''", "[spamd] unknown key 'lisen'; did you mean 'listen'?"),
        ("[spamd]\nlisten = 783", "[spamd] listen must be an address or a list of addresses, such as"),
        ("[spamd]\nlisten = ''", "[spamd] listen: '' is not an address; use host:port, such as"),
        ("[spamd]\nlisten = '783'", "[spamd] listen: '783' is not an address"),
        ("[spamd]\nlisten = '::1:783'", "[spamd] listen: '::1:783' is not an address"),
        ("[spamd]\nlisten = 'a:65536'", "[spamd] listen: 'a:65536' is not an address"),
        ("[spamd]\nlisten = 'run/socket'", "or the full path of a socket"),
        ("[spamd]\nlisten = ['a:1', 2]", "[spamd] listen: 2 is not an address"),
        ("[serve]\nworkers = true", "[serve] workers must be a whole number from 1 to 1024, not True"),
        ("[serve]\nmax_bytes = 0", "[serve] max_bytes must be a whole number from 1 to 1073741824, not 0"),
        (
            "[milter]\nreject = 5",
            "[milter] reject must be a table with a cost for each label, such as { ham = 1000, spam",
        ),
        ("[milter]\nquarantine = { ham = 5 }", "[milter] quarantine must be a table with a cost for each label"),
        ("[milter]\nreject = { ham = 5, spam = true }", "[milter] reject must be a table with a cost for each label"),
        ("[milter]\ncheck_authenticated = 1", "[milter] check_authenticated must be true or false, not 1"),
        ("[serve]\ntimeout = 0.5", "[serve] timeout must be a whole number from 1 to 3600, not 0.5"),
    ],
)
def test_invalid_daemon_settings_are_refused_with_section_and_key(text, said):
    with pytest.raises(ConfigError) as refused:
        parse_serving(text)
    assert said in str(refused.value)


def test_every_setting_of_the_daemon_is_documented_with_its_default():
    documented = (Path(__file__).parents[2] / "docs" / "serve.md").read_text()
    for section in ("serve", "milter", "http"):
        for setting in settings(section):
            if setting.key != "listen":
                assert f"| `{setting.key}` | {setting.default or setting.unset} |" in documented
    assert Policy() == Policy(reject=None, quarantine=None, checks_authenticated=False)


def test_writing_every_default_into_a_file_changes_nothing():
    text = '[imap]\nhost = "mail.example"\nuser = "ann"\npassword_file = "/password"\n'
    lines = [f"{setting.key} = {setting.default}\n" for setting in settings("imap") if setting.default]
    nothing = parse_all(text)
    for section in dict.fromkeys(setting.section for setting in SETTINGS if setting.section != "imap"):
        lines += [f"[{section}]\n"]
        lines += [f"{setting.key} = {setting.default}\n" for setting in settings(section) if setting.default]
    assert parse_all(text + "".join(lines)) == nothing
    assert not nothing.errors


def test_settings_have_the_names_of_the_options_they_set():
    assert [setting.key for setting in settings("imap")] == [field.name for field in fields(Account)]
    assert {setting.key for setting in settings("serve")} <= {field.name for field in fields(ServeOptions)}
    assert settings("imap")[5].type.description == f"one of {', '.join(PORTS)}"
    assert {setting.key for setting in settings("features")} == set(KINDS)


def test_the_documentation_has_the_generated_tables():
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    for section in dict.fromkeys(setting.section for setting in SETTINGS):
        assert markdown_table(section) in page, f"docs/configuration.md lacks\n{markdown_table(section)}"


def test_the_documented_configuration_is_valid_and_complete():
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    text = page.partition("```toml\n")[2].partition("```")[0]
    options, serving, mailbox, reporters, errors = parse_all(text)
    assert not errors
    assert options.costs == Options().costs
    assert options.spec.kinds == Spec().kinds | {"triple"}
    named = tomllib.loads(text)
    assert set(named) == set(SECTIONS)
    for section in (
        "serve",
        "milter",
        "spamd",
        "http",
        "store",
        "report",
        "limits",
        "promise",
        "ask",
        "silence",
        "journal",
        "table",
    ):
        assert set(named[section]) == {setting.key for setting in settings(section)}
    assert replace(serving, workers=1).max_bytes == ServeOptions().max_bytes
    assert serving.http == ("127.0.0.1:7358",)
    assert options.spec.bits == Spec().bits
    assert options.silence == SilenceRules()
    assert options.keeps_subjects
    assert options.ham_lost == 0.001
    assert reporters == {"ann@mail.example", "@home.example"}
    assert set(named["imap"]) == {field.name for field in fields(Account)} - {"password_file", "ca_file"}
    said = {
        "host": "",
        "user": "",
        "password_command": "",
        "port": 0,
        "junk": "",
        "unsure": "",
        "watch": (),
        "move": False,
        "folders": {},
    }
    assert replace(mailbox, **said) == Account("", "")


def test_unwanted_labels_are_some_of_the_labels_in_their_order():
    options = parse('labels = ["ham", "spam", "phishing"]\nunwanted = ["phishing", "spam"]')
    assert options.unwanted == ("spam", "phishing")
    assert parse("").unwanted == ()
    for given in ('"spam"', '["news"]', "[1]"):
        with pytest.raises(ConfigError, match="unwanted must be a list of labels"):
            parse(f"unwanted = {given}")
    for given in ("[]", '["ham", "spam"]'):
        with pytest.raises(ConfigError, match="unwanted must name at least one label, and leave out at least one"):
            parse(f"unwanted = {given}")
