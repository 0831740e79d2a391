"""The table of all settings: section, key, type with limits, default and help.

Reading a configuration, its error messages, the output of `priory config` and the tables in docs/configuration.md all
come from this table. The default values themselves belong to the options classes; a test compares.
"""

from typing import Final, NamedTuple

from priory.config.values import (
    FOLDER_LIST,
    FOLDER_TABLE,
    HOST,
    NODE,
    PATH,
    PUBLIC_URL,
    SECRET_TEXT,
    SENDERS,
    STORE_URL,
    SWITCH,
    TEXT,
    ValueType,
    addresses,
    anything,
    choice,
    measure,
    probability,
    whole_number,
)
from priory.features import KINDS, MOST_BITS
from priory.filter.options import BYTES, SECONDS

#: The conventional address of each protocol.
ADDRESSES: Final = {"spamd": "127.0.0.1:783", "milter": "127.0.0.1:7357", "http": "127.0.0.1:7358"}
LEAST_BITS: Final = 16  #: with fewer, too many features share a bucket: docs/scaling.md
LEAST_HAM_LOST: Final = 0.00001  #: takes 420,000 known ham

#: All sections and top-level keys, in the order of error messages.
SECTIONS: Final = {
    "store": "a journal on a server that several machines share",
    "labels": "two or more names; mail of the first must not be lost",
    "unwanted": "the labels of unwanted mail",
    "costs": "the cost of each mistake: verdict = { true label = cost }",
    "features": "kinds of features, on or off",
    "patterns": "regular expressions (RE2), each a feature by its name",
    "table": "the size of the tables of counts, fixed when the journal is created",
    "promise": "a limit on lost ham",
    "silence": "mail about which people say nothing",
    "journal": "what is stored of a learned message",
    "limits": "how many lessons are remembered, and for how long",
    "ask": "mail about which people may be asked",
    "report": "users who may teach by forwarding mail",
    "serve": "the daemon",
    "spamd": "clients of SpamAssassin, in addition to the socket in the home",
    "milter": "Postfix and Sendmail",
    "http": "health, metrics, the API and the page",
    "imap": "a mailbox on an IMAP server",
}


class Setting(NamedTuple):
    """One key of a section."""

    section: str
    key: str
    type: ValueType
    help: str
    default: str = ""  #: as TOML; empty if the setting is not set by default
    unset: str = "none"  #: the default in words, if `default` is empty


_FEATURES: Final = {
    "word": "words of the text and of links: `word:offer`",
    "pair": "two words in a row: `pair:limited time`",
    "triple": "three words in a row: `triple:click here now`",
    "header": "words of headers, with the header's name: `header:subject=offer`",
    "sender": "the sender's domain and its parent domains: `sender:mail.example`",
    "fact": "missing, contradictory or broken parts: `fact:replies go elsewhere`",
    "link": "hosts, schemes, misleading link texts: `link:shows another host`",
    "markup": "tags of the HTML, and pairs of successive tags: `markup:<font color=red>`",
    "attachment": "type, extension, size, digest: `attachment:ends in .pdf.exe`",
    "source-gram": "six bytes in a row of the text with its markup, within 3,000 bytes shared with the headers: "
    "`source-gram:'<b>fre'`",
    "header-gram": "six bytes in a row of the headers: `header-gram:'(Postf'`",
    "pattern": "your patterns: `pattern:my-name`",
}
_BITS: Final = whole_number(LEAST_BITS, MOST_BITS)
_ACTION: Final = anything("a table with a cost for each label, such as { ham = 1000, spam = -1 }")

#: All settings with a fixed key. [costs] has keys by label, [patterns] keys of the user's choice.
SETTINGS: Final = (
    Setting("store", "url", STORE_URL, "the PostgreSQL database", unset="the journal is in the home"),
    Setting("store", "node", NODE, "the name of this machine in the journal", unset="the host name"),
    *(Setting("features", kind, SWITCH, _FEATURES[kind], "false" if kind == "triple" else "true") for kind in KINDS),
    Setting("table", "bits", _BITS, "the table of counts has 2^bits buckets", "22"),
    Setting("table", "personal_bits", _BITS, "the table for single users has 2^personal_bits rows", "22"),
    Setting(
        "promise",
        "ham_lost",
        probability(LEAST_HAM_LOST),
        "the largest share of ham that may be called spam, such as 0.001",
    ),
    Setting("silence", "days", whole_number(1, 60), "the days after which silence about a message counts", "3"),
    Setting("silence", "learn", SWITCH, "learn a sample of the mail about which people say nothing", "true"),
    Setting("journal", "subjects", SWITCH, "also store its subject, so that people recognise their lessons", "false"),
    Setting(
        "limits",
        "age",
        measure(SECONDS, "2 years"),
        "the age of a lesson, since it was learned; a month has 30 days, a year 365",
    ),
    Setting("limits", "lessons", whole_number(1), "the number of lessons, of all labels and users"),
    Setting(
        "limits",
        "bytes",
        measure(BYTES, "300 MB"),
        "the size of all lessons. Forgotten lessons make room for new ones; the file does not shrink",
    ),
    Setting(
        "ask",
        "spool",
        measure(BYTES, "20 MB"),
        "store such mail in the home, up to this size",
        unset="nothing is stored",
    ),
    Setting("ask", "age", measure(SECONDS, "7 days"), "delete it after this time", '"7 days"'),
    Setting("report", "senders", SENDERS, "addresses and domains whose reports are learned"),
    Setting("serve", "workers", whole_number(1, 1024), "processes that answer", unset="one per core"),
    Setting(
        "serve", "max_connections", whole_number(1, 100_000), "connections at a time, of all workers together", "256"
    ),
    Setting("serve", "max_bytes", whole_number(1, 1 << 30), "the size of a message, also after unpacking", "10485760"),
    Setting("serve", "timeout", whole_number(1, 3600), "seconds to send a request, and to receive the answer", "30"),
    Setting("spamd", "listen", addresses(ADDRESSES["spamd"]), "where to listen in addition to the home's socket"),
    Setting("milter", "listen", addresses(ADDRESSES["milter"]), "where to listen"),
    Setting("milter", "reject", _ACTION, "reject unwanted mail if that has the lowest cost", unset="never"),
    Setting("milter", "quarantine", _ACTION, "quarantine unwanted mail if that has the lowest cost", unset="never"),
    Setting("milter", "check_authenticated", SWITCH, "also check mail of users who have logged in to send it", "false"),
    Setting("http", "listen", addresses(ADDRESSES["http"]), "where to listen: local addresses only, unless url is set"),
    Setting("http", "rate", whole_number(1, 1_000_000), "requests per second for each token", "100"),
    Setting("http", "url", PUBLIC_URL, "where users find the page behind the proxy"),
    Setting("imap", "host", HOST, "the server", unset="required"),
    Setting("imap", "user", TEXT, "the login name", unset="required"),
    Setting("imap", "password_command", SECRET_TEXT, "a shell command that prints the password in its first line"),
    Setting("imap", "password_file", PATH, "a file with the password in its first line, readable by its owner only"),
    Setting("imap", "port", whole_number(1, 65_535), "the port", unset="993 for implicit TLS, otherwise 143"),
    Setting(
        "imap",
        "tls",
        choice("implicit", "starttls", "none", "insecure"),
        "how to encrypt: `none` only for this machine, `insecure` for any",
        '"implicit"',
    ),
    Setting("imap", "ca_file", PATH, "certificates to trust", unset="those of the system"),
    Setting("imap", "inbox", TEXT, "the folder where mail arrives", '"INBOX"'),
    Setting("imap", "junk", TEXT, "the folder for spam", unset="as the server marks it"),
    Setting("imap", "unsure", TEXT, "the folder for unsure mail, from which people teach"),
    Setting("imap", "watch", FOLDER_LIST, "other folders; mail moved there from Junk is ham"),
    Setting("imap", "folders", FOLDER_TABLE, "folders of labels other than spam"),
    Setting("imap", "move", SWITCH, "move new spam, unsure mail and mail of other labels to their folders", "false"),
    # Servers may disconnect a client that is idle for 30 minutes.
    Setting("imap", "poll", whole_number(1, 1_740), "seconds between two visits of the folders", "60"),
    Setting("imap", "max_bytes", whole_number(1_024, 1 << 30), "bytes to fetch of a message", "10485760"),
)


def settings(section: str) -> tuple[Setting, ...]:
    """Return the settings of a section."""
    return tuple(setting for setting in SETTINGS if setting.section == section)
