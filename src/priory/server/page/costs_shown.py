"""What the view *Costs* shows of some costs: a sentence, what would be said of one's own lessons, and which change."""

from priory.decision import UNSURE, Costs, thresholds
from priory.filter import Filter
from priory.lab.cost_trial import Changed, ChangedPage, CostTrial, Tried
from priory.lab.measures.costs import cost_of
from priory.markup import Html, element, together
from priory.server.page.costs_form import plain
from priory.server.page.costs_plots import plots
from priory.server.page.moment import moment
from priory.server.page.tables import scrolling
from priory.verdict import digits


def shown(filter_: Filter, trial: CostTrial, costs: Costs, most: int, after: int | None) -> Html:
    """Return all that depends on the costs."""
    tried = trial.tried(costs)
    if tried is None:
        return element("div", _beginning(costs), _empty(trial), id="figures", class_="figures")
    page = trial.changed(filter_, tried, most, after)
    return element(
        "div",
        _sentence(tried),
        _figures(tried),
        element("h2", "On the curves") if tried.then.curve is not None else Html(),
        plots(tried),
        _changes(page, costs),
        _about(trial),
        id="figures",
        class_="figures",
    )


def _beginning(costs: Costs) -> Html:
    begins = ", ".join(f"{said} from probability {p:.4g}" for said, p in thresholds(costs).items())
    return element("p", f"Says {begins}." if begins else "Says what costs least.", id="words", class_="words panel")


def _empty(trial: CostTrial) -> Html:
    return element(
        "div",
        element("p", f"Nothing to show yet: {trial.reason}."),
        element("p", "Show it some mail of each kind, such as: ", element("code", "priory learn spam ~/Maildir/.Junk")),
        class_="empty",
    )


def _sentence(tried: Tried) -> Html:
    then = element("p", tried.then.words, id="words")
    is_same = tried.then is tried.now
    now = "These costs are in force." if is_same else f"Now: {tried.now.words}"
    return element("div", then, element("p", now, class_="quiet"), class_="words panel")


def _figures(tried: Tried) -> Html:
    then, now = tried.then, tried.now
    said = then.confusion.said
    head = element("tr", element("th", "is", scope="col"), *(_head(f"called {name}") for name in said))
    rows = [
        element(
            "tr",
            element("th", name, scope="row"),
            *(
                _count(tried, i, j, "right" if i == j else "neither" if said[j] == UNSURE else "wrong")
                for j in range(len(said))
            ),
        )
        for i, name in enumerate(then.confusion.classes)
    ]
    table = element(
        "table",
        element("caption", "Your lessons, as they would be judged; in brackets, how many more or fewer than now"),
        element("thead", head),
        element("tbody", *rows),
        class_="confusion",
    )
    as_now, by_these = cost_of(now.confusion, then.costs).estimate, then.cost
    words = f"By these prices a message costs {_price(by_these.estimate)} on average"
    interval = f" ({_price(by_these.low)} to {_price(by_these.high)})"
    beside = "." if then is now else f"; judged as now it would cost {_price(as_now)}."
    return element(
        "div",
        scrolling(table, "What would be said"),
        element("p", words, element("span", interval, class_="quiet"), beside, class_="price"),
        class_="counts",
    )


def _head(text: str) -> Html:
    return element("th", text, scope="col", class_="number")


def _count(tried: Tried, true: int, said: int, kind: str) -> Html:
    n, before = int(tried.then.confusion.counts[true, said]), int(tried.now.confusion.counts[true, said])
    share = tried.then.confusion.by_row[true, said]
    more = f" ({n - before:+,})".replace("-", "−") if n != before else ""
    return element(
        "td",
        element("span", f"{n:,}", element("span", more, class_="more"), class_="n"),
        element("span", f"{100 * share:.3g} %", class_="quiet"),
        class_=f"number {kind}",
    )


def _price(cost: float) -> str:
    return f"{cost:.3g}" if cost < 1000 else f"{cost:,.0f}"


def _changes(page: ChangedPage, costs: Costs) -> Html:
    title = element("h2", "What would change")
    if not page.total:
        return together(title, element("p", "No lesson of yours would be judged otherwise.", class_="empty", id="none"))
    kinds = [element("li", _kind(*kind, n)) for kind, n in page.kinds.items()]
    names = ("taught as", "says now", "would say", "probability", "from", "learned")
    head = element("tr", *(element("th", name, scope="col") for name in names))
    table = element(
        "table",
        element("thead", head),
        element("tbody", *(_row(each) for each in page.lessons)),
        class_="changed",
    )
    older = Html()
    if page.after is not None:
        address = "&".join(f"{name}={value}" for name, value in (*_fields(costs), ("after", str(page.after))))
        older = element("p", element("a", "Older ones", href=f"/costs?{address}", class_="button", id="older"))
    lessons = "lesson" if page.total == 1 else "lessons"
    return together(
        title,
        element("p", f"{page.total:,} {lessons} of yours would be judged otherwise:", id="total"),
        element("ul", *kinds, class_="kinds"),
        scrolling(table, "Lessons that would change"),
        older,
    )


def _fields(costs: Costs) -> list[tuple[str, str]]:
    """The fields of the form."""
    pairs = [
        (f"{said}.{true}", plain(costs.matrix[i][j]))
        for i, said in enumerate(costs.labels)
        for j, true in enumerate(costs.labels)
        if i != j
    ]
    return [*pairs, (UNSURE, plain(costs.unsure))]


def _kind(label: str, was: str, becomes: str, n: int) -> Html:
    return together(
        element("strong", f"{n:,} {label}"),
        f": {was} → {becomes}",
        element("span", _worth(label, was, becomes), class_="quiet"),
    )


def _worth(label: str, was: str, becomes: str) -> str:
    if becomes == label:
        return ", which is right"
    return (
        ", which is wrong" if becomes != UNSURE else ", where it was right" if was == label else ", where it was wrong"
    )


def _row(each: Changed) -> Html:
    lesson = each.lesson
    label = lesson.label
    kind = "right" if each.becomes == label else "neither" if each.becomes == UNSURE else "wrong"
    return element(
        "tr",
        element("td", label),
        element("td", each.was),
        element("td", each.becomes, class_=kind),
        element("td", *_probability(each), class_="number"),
        element("td", lesson.sender or "nobody", element("span", lesson.source, class_="quiet source")),
        element("td", moment(lesson.time)),
    )


def _probability(each: Changed) -> tuple[str, ...]:
    """Of two labels that of the second; of more, the likeliest."""
    labels = list(each.probabilities)
    about = labels[1] if len(labels) == 2 else max(labels, key=each.probabilities.__getitem__)
    return digits(each.probabilities[about]), element("span", f" {about}", class_="quiet")


def _about(trial: CostTrial) -> Html:
    n = len(trial.lessons.labels)
    others = (
        f" {trial.n_unscored:,} others were learned before there was anything to compare with."
        if trial.n_unscored
        else ""
    )
    return element(
        "p",
        f"Judged by {n:,} lessons, each as it was predicted before it was learned, with scores read as they are today."
        + others,
        class_="quiet about",
    )
