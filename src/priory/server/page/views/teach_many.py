"""The part *Teach many at once* of the view *Check*: areas for mailboxes and folders, and a guide for the first visit.

The script reads the files, and teaches them by the API.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from priory.html.builder import Html, element, together
from priory.server.page.layout import Visit

_MEANINGS: Final = {"ham": "Mail you want: ham", "spam": "Mail you do not want: spam"}
#: How to get many messages out of mail programs.
_PROGRAMS: Final = {
    "Thunderbird": "Open the folder, mark the messages (Ctrl+A marks all), then File › Save As › File…; each becomes a "
    "file that ends in .eml. Or drop the file in which Thunderbird keeps the folder: Help › Troubleshooting "
    "Information › Profile Folder, then in Mail or ImapMail the file with the name of the folder and no ending.",
    "Apple Mail": "Choose the mailbox, then Mailbox › Export Mailbox…, and drop the folder that it makes. Its name "
    "ends in .mbox.",
    "Gmail": "On takeout.google.com, choose only Mail, and of it the labels Inbox and Spam. Unpack what you get, and "
    "drop each file that ends in .mbox. A single message: ⋮ › Download message.",
    "Outlook": "On the web and in the new Outlook: ⋯ › Save as makes a file that ends in .eml. Files that end in .msg "
    "or .pst cannot be read.",
    "Another webmail": "Open a message, and look for Download, Save, Export or Show original. Some can export a whole "
    "folder as mbox or zip; unpack a zip first.",
    "Mail on a server": "Drop the folder itself: a Maildir, or a folder of messages. In a terminal, priory learn LABEL "
    "FOLDER does the same.",
}


def teach_many(visit: Visit, lessons: Mapping[str, int], most_bytes: int) -> Html:
    """Return the part; it is open and has the guide if lessons of a label are missing."""
    missing = missing_labels(lessons)
    return element(
        "details",
        element("summary", "Teach many at once: an mbox, files or a folder"),
        _guide(missing) if missing else "",
        element("div", *(_area(label, visit) for label in lessons), class_="areas"),
        element("p", visit.why_not("learn"), class_="notice") if not visit.may("learn") else "",
        _chosen(list(lessons)),
        _progress(),
        element("div", data_part="outcome"),
        id="teach-many",
        class_="panel",
        open=bool(missing),
        data_may="learn" if visit.may("learn") else "look",
        data_most_bytes=str(most_bytes),
    )


def missing_labels(lessons: Mapping[str, int]) -> list[str]:
    """Return the labels without lessons, if for this reason nothing can be judged yet.

    >>> missing_labels({"ham": 3, "spam": 0}), missing_labels({"ham": 3, "spam": 2, "news": 0})
    (['spam'], [])
    """
    taught = [label for label, n in lessons.items() if n]
    return [label for label in lessons if label not in taught] if len(taught) < 2 else []


def _guide(missing: Sequence[str]) -> Html:
    """Say what the filter needs to begin, and where it is."""
    needed = {"ham": "mail that you want (ham)", "spam": "spam"}
    names = " and ".join(needed.get(label, label) for label in missing)
    programs = (element("details", element("summary", name), element("p", how)) for name, how in _PROGRAMS.items())
    return element(
        "div",
        element(
            "p",
            f"The filter learns from examples. It still needs some {names}: a few dozen messages are a good "
            "beginning. Take them from your own mailbox, the spam, too; spam of other people would teach it what their "
            "mail looks like. Save them as files, and drop these below. How to save them in:",
        ),
        element("div", *programs, class_="programs"),
        id="guide",
    )


def _area(label: str, visit: Visit) -> Html:
    may = visit.may("learn")
    choices = (("files", "Choose files", None), ("folder", "Choose a folder", True))
    return element(
        "section",
        element("h3", _MEANINGS.get(label, label)),
        element("p", "Drop an mbox, messages or a folder here, or", class_="quiet"),
        element(
            "div",
            *(
                together(
                    element(
                        "input",
                        type="file",
                        id=f"{label}-{kind}",
                        multiple=True,
                        webkitdirectory=is_folder,
                        hidden=True,
                    ),
                    element(
                        "button", title, class_="button", type="button", data_opens=f"{label}-{kind}", disabled=not may
                    ),
                )
                for kind, title, is_folder in choices
            ),
            class_="row",
        ),
        class_="area",
        aria_label=f"Teach {label}",
        data_label=label,
    )


def _chosen(labels: Sequence[str]) -> Html:
    """Return what is shown when messages were found: how many, and the question what they are."""
    return element(
        "div",
        element("p"),
        element(
            "div",
            element("label", "They are", for_="their-label"),
            element("select", *(element("option", label, value=label) for label in labels), id="their-label"),
            element("button", class_="button primary", type="button", data_do="teach"),
            element("button", "Cancel", class_="button", type="button", data_do="cancel"),
            class_="row",
        ),
        hidden=True,
        data_part="chosen",
    )


def _progress() -> Html:
    return element(
        "div",
        element("progress", aria_label="Progress"),
        element("p"),
        element("button", "Stop", class_="button", type="button"),
        hidden=True,
        data_part="progress",
    )
