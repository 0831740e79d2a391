import json
from pathlib import Path

import pytest

from command import priory
from priory.config import ConfigError, load_mailbox, parse
from priory.config.parse import load_toml, mailbox_in, parse_all
from priory.filter.options import Options
from priory.imap.account import Account


def parse_mailbox(text: str) -> Account | None:
    return mailbox_in(load_toml(text))


LEAST = '[imap]\nhost = "mail.example"\nuser = "ann"\npassword_command = "pass show mail"\n'


def test_a_mailbox_is_read(tmp_path: Path):
    assert load_mailbox(tmp_path / "priory.toml") is parse_mailbox("") is parse_mailbox("[costs]\nunsure = 2") is None
    assert parse(LEAST) == Options()
    assert parse_mailbox(LEAST) == Account("mail.example", "ann", "pass show mail")
    every = """
        [imap]
        host = "localhost"
        user = "ann@mail.example"
        password_file = "~/password"
        port = 1143
        tls = "none"
        ca_file = "/etc/ca.pem"
        inbox = "Inbox"
        junk = "Rubbish"
        unsure = "Unsure"
        watch = ["Family", "Work"]
        folders = { ham = "Mine" }
        move = true
        poll = 30
        max_bytes = 2_000
    """
    password, ca = Path.home() / "password", Path("/etc/ca.pem")
    folders = ("Inbox", "Rubbish", "Unsure", ("Family", "Work"), {"ham": "Mine"})
    assert parse_mailbox(every) == Account(
        "localhost", "ann@mail.example", "", password, 1143, "none", ca, *folders, True, 30, 2000
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[imap]\nhost = 'h'", "[imap] user is missing"),
        ("[imap]\nuser = 'u'", "[imap] host is missing"),
        ("[imap]\nhost = 'h'\nuser = 'u'", "[imap] needs either password_command or password_file"),
        (f"{LEAST}password_file = 'x'", "[imap] needs either password_command or password_file"),
        (
            LEAST.replace("mail.example", "imaps://mail.example"),
            "[imap] host: use only the name of the server, not 'imaps://mail.example'; the port is a setting",
        ),
        (LEAST.replace("mail.example", "mail.example:993"), "not 'mail.example:993'; the port is a setting"),
        (f"{LEAST}hots = 'x'", "[imap] unknown key 'hots'; did you mean 'host'?"),
        (f"{LEAST}port = 0", "[imap] port must be a whole number from 1 to 65535, not 0"),
        (f"{LEAST}poll = 1800", "[imap] poll must be a whole number from 1 to 1740, not 1800"),
        (f"{LEAST}max_bytes = true", "[imap] max_bytes must be a whole number from 1024 to 1073741824, not True"),
        (f"{LEAST}tls = 'ssl'", "[imap] tls must be one of implicit, starttls, none, insecure, not 'ssl'"),
        (f"{LEAST}tls = 'none'", '[imap] tls = "none" would send the password unencrypted to mail.example'),
        (
            f"{LEAST}ca_file = '~no-such-account/ca'",
            "[imap] ca_file: cannot resolve ~no-such-account/ca; use an absolute path",
        ),
        (f"{LEAST}move = 'yes'", "[imap] move must be true or false, not 'yes'"),
        (f"{LEAST}watch = 'Family'", "[imap] watch must be a list of folders, such as [\"Family\"], not 'Family'"),
        (f"{LEAST}junk = ''", "[imap] junk must be a text on one line"),
        (f"{LEAST}junk = 'INBOX'", "[imap] inbox, junk, unsure, watch and folders must name different folders"),
        (
            f"{LEAST}junk = 'a'\nwatch = ['a']",
            "[imap] inbox, junk, unsure, watch and folders must name different folders",
        ),
        (
            f"{LEAST}folders = ['News']",
            "[imap] folders must be a table of folders by label, such as { newsletter = \"News\" }, not ['News']",
        ),
        (f"{LEAST}folders = {{ news = 'News' }}", "[imap] folders must be by labels; 'news' is none of ham, spam"),
        (f"{LEAST}folders = {{ spam = 'Spam' }}", "[imap] folders must be of other labels; the folder of spam is junk"),
        (f"{LEAST}unsure = 'a'\nwatch = ['a']", "must name different folders"),
        (f"{LEAST}folders = {{ ham = 'INBOX' }}", "must name different folders"),
        ("imap = 1", "imap must be a section, [imap], not 1"),
    ],
)
def test_invalid_mailbox_settings_are_refused_with_the_key(text: str, said: str):
    with pytest.raises(ConfigError) as refused:
        parse_mailbox(text)
    assert said in str(refused.value)


def test_a_password_in_the_file_is_refused_and_not_repeated():
    for text in (f"{LEAST}password = 'hush'", LEAST.replace('"pass show mail"', "['echo', 'hush']")):
        with pytest.raises(ConfigError) as refused:
            parse_mailbox(text)
        assert "hush" not in str(refused.value)


def test_errors_of_a_mailbox_are_reported_with_all_others():
    wrong = LEAST + 'port = 0\nhots = "x"\n[serve]\nworkers = 0\n'
    assert {error.key for error in parse_all(wrong).errors} == {
        ("serve", "workers"),
        ("imap", "hots"),
        ("imap", "port"),
    }
    assert [str(error) for error in parse_all("[imap]\nport = 1").errors] == ["[imap] host is missing"]


def test_a_mailbox_is_shown_without_its_password(tmp_path: Path):
    (tmp_path / "priory.toml").write_text(LEAST.replace("pass show mail", "echo hush"))
    shown, for_programs = (priory("config", *option, home=tmp_path).stdout.decode() for option in ((), ("--json",)))
    assert "  imap        ann at mail.example:993, tls implicit; watches INBOX, the server's Junk folder; " in shown
    assert json.loads(for_programs)["in_force"]["imap"]["port"] == 993
    assert json.loads(for_programs)["in_force"]["imap"]["unsure"] == ""
    assert "hush" not in shown + for_programs


def test_a_folder_for_unsure_mail_is_shown_with_the_others(tmp_path: Path):
    (tmp_path / "priory.toml").write_text(f'{LEAST}junk = "Junk"\nunsure = "Unsure"\nmove = true\n')
    shown = priory("config", home=tmp_path).stdout.decode()
    assert "watches INBOX, Junk, Unsure for unsure mail; moves new mail to these folders\n" in shown


def test_unencrypted_passwords_need_an_explicit_setting():
    assert parse_mailbox(f'{LEAST}tls = "insecure"').tls == "insecure"


def test_every_setting_of_a_mailbox_is_documented_with_its_default():
    documented = (Path(__file__).parents[2] / "docs" / "imap.md").read_text()
    usual = Account("", "")
    defaults = {key: str(getattr(usual, key)).lower() for key in ("tls", "move", "poll", "max_bytes")}
    defaults |= {
        "inbox": "INBOX",
        "port": "993, or 143",
        "unsure": "none",
        "watch": "none",
        "ca_file": "those of this machine",
    }
    for key, default in defaults.items():
        assert f"| `{key}` | {default} |" in documented
    for key in ("host", "user", "password_command", "password_file", "junk"):
        assert f"| `{key}` |" in documented
