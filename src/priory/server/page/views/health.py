"""The view *Health*: the state of the daemon, its recent activity, how good its predictions are, and its storage."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from priory import __version__
from priory.filter.options import Limits
from priory.filter.stats import Stats
from priory.html.builder import Html, element, scroll_box, table, together
from priory.html.numbers import number, percent, size, time_element
from priory.server.page.layout import Visit, document
from priory.server.page.plots import Plot
from priory.server.page.views.activity import SPANS, Activity, messages_plot, protocols_table, times_plot
from priory.server.page.views.mail_servers import MailServers, connection_notices

if TYPE_CHECKING:
    from priory.lab.track_record import TrackRecord

_FEWEST_PREDICTIONS: Final = 25  # from which on plots are meaningful
_DAY_S: Final = 86_400


@dataclass(frozen=True, slots=True)
class Storage:
    """The stored data, and how near they are to their limits."""

    stats: Stats
    journal: str  #: its name
    counts_bytes: int
    history_bytes: int
    limits: Limits  #: on the stored lessons
    oldest_age_s: float  #: age of the oldest lesson; 0 if age is not limited
    used_bytes: int  #: by the lessons in the journal
    n_questions: int = 0  #: messages in the spool
    spool_bytes: int = 0


def health_view(visit: Visit, span: str, state: Html, activity: Html, learned: Html) -> Html:
    """Return the page; its parts are those made by the functions below."""
    silent = element("p", class_="notice wrong", id="silent", role="alert", hidden=True)  # for the script
    parts = silent, state, _choice_of_span(span), activity, learned
    return document(visit, "/health", "Health", *parts, assets=("plot.css", "health.css", "health.js"))


def state_part(trouble: str, workers_ready: int, workers: int, started: float, servers: MailServers) -> Html:
    """Return whether mail is being checked, and if not, what is missing."""
    words = "The filter is ready to check mail." if servers.are_silent else "Mail is being checked."
    if trouble:
        words = f"Mail is not checked as it should be: {trouble.rstrip('.')}."
    zone = f"{datetime.now().astimezone():%Z}"
    figures = {
        "workers ready": f"{workers_ready} of {workers}",
        "running since": together(time_element(started), f" {zone}"),
        "checked since then": servers.in_words,
        "version": __version__,
    }
    pairs = (element("div", element("dt", name), element("dd", value)) for name, value in figures.items())
    sentence = element("p", element("strong", words), class_="state bad" if trouble else "state good")
    notices = connection_notices(servers)
    return _live("state", element("div", sentence, element("dl", *pairs, class_="figures"), *notices, class_="panel"))


def activity_part(activity: Activity, colours: Mapping[str, str]) -> Html:
    """Return messages, verdicts and durations of the chosen span."""
    heading = element("h2", f"The last {activity.span}")
    if not activity.steps:
        return _live("lately", heading, _no_messages(activity.span))
    errors = sum(n for key, n in activity.all.items() if key[0] == "errors")
    notice = (
        element("p", f"{errors} internal errors; the log of the daemon has each.", class_="notice") if errors else ""
    )
    protocols = element(
        "div",
        element("h3", "By protocol"),
        element("p", "The number of messages, their verdicts, and the durations of checks.", class_="quiet"),
        protocols_table(activity, colours),
        class_="panel",
    )
    plots = _draw(messages_plot(activity, colours), times_plot(activity))
    return _live("lately", heading, notice, element("div", *plots, protocols, class_="plots"))


def learned_part(record: "TrackRecord", storage: Storage) -> Html:
    """Return how good the predictions were, and the stored data."""
    parts = [element("h2", "How good the predictions are"), *_origins(storage.stats)]
    if record.n < _FEWEST_PREDICTIONS:
        parts.append(_too_few_predictions(record.n))
    else:
        from priory.server.page.views.track_record import trust_plots  # noqa: PLC0415 - it takes a second to load

        words = f"Based on {number(record.n)} lessons, each predicted before it was learned."
        plots = element("div", *_draw(*trust_plots(record)), class_="plots")
        stats = storage.stats
        parts += [element("p", words, class_="quiet"), *_lost_ham(stats), *_doubt(stats), *_silence(stats), plots]
    return together(_live("trust", *parts), _live("kept", *_storage(storage)))


def _lost_ham(stats: Stats) -> list[Html]:
    """Say how much ham is called spam, and how far the promise about it is."""
    figures = [str(figure) for figure in (stats.lost_ham, stats.promise) if figure is not None]
    return [element("p", f"{words[0].upper()}{words[1:]}.") for words in figures]


def _doubt(stats: Stats) -> list[Html]:
    """Say how many labels look wrong, if it is notable."""
    if not stats.doubt:
        return []
    words = (
        f"{stats.doubt.capitalize()}. The filter takes that into account: its probabilities are those of the truth, so "
        "the plots show more mistakes than it makes. Correcting the labels makes it better: "
    )
    return [element("p", words, element("a", "labels that look wrong", href="/journal/suspects"), ".", class_="notice")]


def _silence(stats: Stats) -> list[Html]:
    """Say what people have left alone, if that is known."""
    if stats.silence is None:
        return []
    return [
        element("p", f"Mail that was checked: {stats.silence}. Calibration takes both into account.", class_="quiet")
    ]


def _origins(stats: Stats) -> list[Html]:
    """Say that the mail of the labels was collected in different places, and what to do."""
    gap = stats.origins
    if gap is None:
        return []
    finding = gap.finding[0].upper() + gap.finding[1:]
    return [element("p", element("strong", finding), " ", gap.advice, class_="notice")]


def trouble_part(name: str, detail: str) -> Html:
    """Return a part that cannot be shown, with the reason."""
    return _live(name, element("p", detail, class_="notice", role="alert"))


def _live(name: str, *parts: str) -> Html:
    """Return a part of the page that the script updates."""
    return element("section", *parts, id=name, data_live=True)


def _choice_of_span(chosen: str) -> Html:
    links = (
        element("a", name.capitalize(), href=f"/health?span={name}", aria_current="page" if name == chosen else None)
        for name in SPANS
    )
    update = element(
        "label",
        element("input", type="checkbox", id="up-to-date", checked=True, disabled=True),
        " keep up to date",
    )
    return element(
        "div",
        element(
            "nav", element("span", "The last ", aria_hidden="true"), *links, aria_label="How far back", class_="spans"
        ),
        update,
        class_="choice",
    )


def _no_messages(span: str) -> Html:
    return element(
        "div",
        element("p", element("strong", f"No message was checked in the last {span}.")),
        element(
            "p",
            "If no mail server is connected, this view says so above. You can check a message ",
            element("a", "here", href="/"),
            ".",
        ),
        class_="empty",
    )


def _too_few_predictions(n: int) -> Html:
    words = "There are no predictions yet" if n == 0 else f"There are only {n} predictions yet"
    return element(
        "div",
        element("p", element("strong", f"{words}; plots appear from {_FEWEST_PREDICTIONS} on.")),
        element(
            "p",
            "A lesson is predicted if there are already lessons of every label. Teach them ",
            element("a", "on this page", href="/"),
            ", or by ",
            element("code", "priory learn spam FOLDER"),
            " and ",
            element("code", "priory learn ham FOLDER"),
            ".",
        ),
        class_="empty",
    )


def _draw(*plots: Plot) -> list[Html]:
    return [element("div", plot.draw(), class_="panel wide" if plot.wide else "panel") for plot in plots]


def _storage(storage: Storage) -> list[Html]:
    stats = storage.stats
    return [
        element("h2", "What is stored"),
        element(
            "div",
            element("div", element("h3", "Lessons"), _lessons(stats), *_limits(storage), class_="panel"),
            element("div", element("h3", "Files"), *_files(storage), class_="panel"),
            class_="plots",
        ),
    ]


def _lessons(stats: Stats) -> Html:
    rows = []
    for label, n in stats.lessons.items():
        automatic = stats.automatic.get(label, 0)
        rows.append([label, number(n - automatic), number(automatic), number(stats.scored.get(label, 0))])
    return scroll_box(table(["label", "by people", "automatic", "predicted"], rows), "Lessons", "plain")


def _files(storage: Storage) -> list[Html]:
    stats = storage.stats
    used = percent(stats.buckets_used / stats.buckets, 1)
    rows = [
        ["journal", size(stats.journal_bytes), "every lesson"],
        [
            "counts",
            size(storage.counts_bytes),
            f"computed from the journal; {number(stats.names)} names, {used} of {number(stats.buckets)} buckets used",
        ],
        ["history", size(storage.history_bytes), "counters over time"],
    ]
    if storage.n_questions:
        questions = element("a", f"{number(storage.n_questions)} to ask about", href="/ask")
        rows.append(["spool", size(storage.spool_bytes), together("copies of mail, ", questions)])
    name = element("p", f"The journal is {storage.journal}", class_="quiet")
    return [name, scroll_box(table(["file", "size", "content"], rows), "Files", "plain", "words")]


def _limits(storage: Storage) -> list[Html]:
    limits = storage.limits
    if not limits:
        return []
    rows = []
    if limits.age_s is not None:
        days = int(storage.oldest_age_s // _DAY_S)
        age = f"{days:,} day{'' if days == 1 else 's'} ({percent(storage.oldest_age_s / limits.age_s, 0)})"
        rows.append(["age", limits.words["age"], age])
    if limits.lessons is not None:
        n = sum(storage.stats.lessons.values())
        rows.append(["lessons", number(limits.lessons), f"{number(n)} ({percent(n / limits.lessons, 0)})"])
    if limits.n_bytes is not None:
        used = storage.used_bytes
        rows.append(["bytes", limits.words["bytes"], f"{size(used)} ({percent(used / limits.n_bytes, 0)})"])
    words = (
        f"Beyond these limits the oldest lessons are forgotten, except the last {limits.kept} by people of each label."
    )
    box = scroll_box(table(["limit", "at most", "now"], rows), "Limits", "plain")
    return [element("h3", "Limits"), element("p", words, class_="quiet"), box]
