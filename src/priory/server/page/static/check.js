// The view Check: sends the dropped bytes, shows the verdict on them, and teaches exactly these bytes.
import { hasFolder } from "/assets/mail_files.js";
import { made, parsed, problem, say, send, tell } from "/assets/shell.js";
import { VerdictList } from "/assets/verdict_list.js";

const MAIL = { "Content-Type": "message/rfc822" };
const MOVE_MS = 700;

const form = document.getElementById("check");
const text = document.getElementById("text");
const files = document.getElementById("files");
const user = document.getElementById("user"); // a change clears the result, which belongs to the user before
const several = document.getElementById("several");
const result = document.getElementById("result");

let mail = null; // the message in the result: a Blob, sent unchanged to teach and to undo
let undo = null; // undoes the last lesson; returns the probabilities before, and a text
let list = null; // the verdicts on several messages
let opened = null; // the index in the list of the message in the result
let fetching = null; // aborts the request for the lessons behind the verdict
let latest = 0; // number of the latest request; answers to earlier ones are ignored

const whose = () => user.value.trim();
const asUser = () => `user=${encodeURIComponent(whose())}`;

/** Run an action while the result is marked busy; report its errors. */
async function busily(act) {
  const turn = ++latest;
  result.setAttribute("aria-busy", "true");
  try {
    await act(() => turn === latest);
  } catch (error) {
    problem(error);
  } finally {
    if (turn === latest) result.removeAttribute("aria-busy");
  }
}

/** Show the verdict on a message; `before` has the probabilities before its lesson, `back` undoes the lesson.
 *
 * Only the message in the result can be taught: an answer that comes too late, or not at all, changes neither. */
async function show(isLatest, shown, before = [], back = null) {
  const query = new URLSearchParams([["user", whose()], ...before.map((probability) => ["before", probability])]);
  const answer = await send("POST", `/check/explained?${query}`, shown, MAIL);
  const page = parsed(await answer.text());
  if (!isLatest()) return null;
  document.getElementById("learned").replaceWith(page.getElementById("learned"));
  if (shown === mail) keepBackground(page);
  [mail, undo] = [shown, back];
  result.replaceChildren(...page.body.childNodes);
  result.querySelector("[data-undo]").hidden = undo === null;
  if (undo === forget) result.querySelector("[data-forget]").hidden = true; // one button for one act
  move(result.querySelector('[data-marker="before"]'), result.querySelector('[data-marker="now"]'));
  result.focus({ preventScroll: true });
  const said = result.querySelector("article").dataset;
  if (opened !== null) list.update(opened, { ...said, probability: JSON.parse(said.probabilities)[said.about] });
  showBackground(shown);
  return said;
}

/** Keep the lessons behind the former verdict on a message until there are new ones, so that nothing jumps. */
function keepBackground(page) {
  const former = document.getElementById("background")?.childNodes ?? [];
  page.getElementById("background")?.replaceChildren(...former);
}

/** Show the lessons behind the verdict, and what would have changed it; this takes longer than the verdict. */
async function showBackground(shown) {
  const place = document.getElementById("background");
  if (!place) return;
  fetching?.abort();
  fetching = new AbortController();
  try {
    const answer = await send("POST", `/check/background?${asUser()}`, shown, MAIL, fetching.signal);
    const background = parsed(await answer.text());
    showSince(background.querySelectorAll("[data-since]"));
    place.replaceChildren(...background.body.childNodes);
  } catch (error) {
    if (error.name === "AbortError") return;
    place.replaceChildren(made("p", error.detail ?? "The lessons cannot be shown.", "notice"));
  }
  place.removeAttribute("aria-busy");
}

/** Say beside the reasons since when lessons had what they name. */
function showSince(words) {
  for (const { dataset, textContent } of words) {
    for (const item of result.querySelectorAll(`[data-feature="${dataset.since}"]`)) item.textContent = textContent;
  }
}

/** Show another message; if it cannot be shown, show the reason instead. */
async function showOther(isLatest, other) {
  try {
    return await show(isLatest, other);
  } catch (error) {
    if (isLatest()) showProblem(error);
    throw error;
  }
}

function showProblem(error) {
  showNothing(error.detail ?? "");
}

/** Show a text instead of a message. */
function showNothing(why) {
  [mail, undo] = [null, null];
  result.replaceChildren(made("p", why, "empty"));
}

/** Animate the marker from the old probability to the new one. */
function move(was, now) {
  if (!was || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const [from, to] = [was, now].map((marker) => parseFloat(marker.getAttribute("x")));
  const begun = performance.now();
  const step = (time) => {
    const share = Math.min(Math.max((time - begun) / MOVE_MS, 0), 1);
    now.setAttribute("x", `${from + (to - from) * (1 - (1 - share) ** 3)}%`);
    if (share < 1 && now.isConnected) requestAnimationFrame(step);
  };
  step(begun);
}

/** Check one message. */
function checkOne(blob) {
  busily(async (isLatest) => {
    const said = await showOther(isLatest, blob);
    if (!said) return;
    result.scrollIntoView({ block: "start" });
    const bare = "bare" in said ? "This text has no headers. " : "";
    tell(`${bare}${said.label}: ${said.about} with probability ${said.probability}`);
  });
}

/** Teach the label of the message, and show the new verdict. */
function teach(label) {
  busily(async (isLatest) => {
    const taught = mail;
    const lesson = await learned(label, taught);
    if (lesson.outcome === "known") {
      say(`You have already taught that it is ${label}; nothing has changed.`);
      return;
    }
    if (lesson.outcome === "kept") {
      say(`The lesson (${label}) is kept until the journal can be reached; until then nothing changes.`);
      return;
    }
    const back = lesson.was === null ? forget : () => restore(lesson.was);
    await moved(isLatest, taught, lesson.before, `Learned that it is ${label}`, back);
  });
}

async function learned(label, taught) {
  return (await send("POST", `/v1/learn?label=${encodeURIComponent(label)}&${asUser()}`, taught, MAIL)).json();
}

/** The probabilities of the verdict in the result. */
const shownProbabilities = () => JSON.parse(result.querySelector("article").dataset.probabilities);

async function restore(label) {
  const lesson = await learned(label, mail);
  return [lesson.before, `Relearned as ${label}`];
}

async function forget() {
  const before = shownProbabilities();
  await send("POST", `/v1/forget?${asUser()}`, mail, MAIL);
  return [before, "The lesson is forgotten"];
}

/** Change something that the verdict depends on, and show the new verdict; `back` undoes the change. */
function change(act, what, back = null) {
  busily(async (isLatest) => {
    const [before, changed] = [shownProbabilities(), mail];
    const outcome = await act();
    if (outcome === "known" || outcome === "unknown") {
      say(outcome === "known" ? "There is such a rule already." : "This lesson does not exist any more.");
      return;
    }
    await moved(isLatest, changed, before, what, back && outcome !== "replaced" ? undoing(back) : null);
  });
}

const undoing = (act) => async () => {
  const before = shownProbabilities();
  await act();
  return [before, "Undone"];
};

const outcomeOf = async (method, address) => (await (await send(method, address)).json()).outcome;

/** Make a rule about something in the message. */
function makeRule({ rule, thing, text }) {
  const about = new URLSearchParams({ thing, text, user: whose() });
  const words = { ignore: "says nothing", allow: "is always let pass", block: "is always unwanted" };
  change(
    () => outcomeOf("POST", `/v1/rules?effect=${rule}&${about}`),
    `Rule: ${thing} ${text} ${words[rule]}`,
    () => send("DELETE", `/v1/rules?${about}`),
  );
}

/** Forget another lesson, or give it another label. */
function correct(lesson, act, to) {
  const { query, label } = lesson.dataset;
  if (act === "forget") {
    change(() => outcomeOf("POST", `/v1/messages/forget?${query}&expect=1`), "The other lesson is forgotten");
    return;
  }
  const relearn = (as) => outcomeOf("POST", `/v1/messages/relearn?${query}&label=${encodeURIComponent(as)}`);
  change(() => relearn(to), `The other lesson is ${to} now`, () => relearn(label));
}

/** Undo a lesson. */
function takeBack(act) {
  busily(async (isLatest) => {
    const taught = mail;
    const [before, what] = await act();
    await moved(isLatest, taught, before, what);
  });
}

async function moved(isLatest, taught, before, what, back = null) {
  const said = await show(isLatest, taught, Object.values(before), back);
  if (!said) return;
  list?.age();
  const was = result.querySelector(".was").textContent;
  say(`${what}: ${said.about} with probability ${said.probability}, before ${was}`);
}

/** Check all messages in files. */
function checkSeveral(chosen) {
  const body = () => {
    const data = new FormData();
    for (const file of chosen) data.append("mail", file, file.name);
    return data;
  };
  busily(async (isLatest) => {
    closeList();
    several.hidden = false;
    several.replaceChildren(made("p", "Checking…", "quiet"));
    showNothing("Open a message above to see its verdict and the evidence.");
    const answer = await send("POST", `/v1/check?${asUser()}`, body()).catch((error) => {
      closeList();
      if (isLatest()) showProblem(error);
      throw error;
    });
    const said = await answer.json();
    if (isLatest()) showList(said, chosen, body);
  });
}

/** List the verdicts on several messages; each can be opened. */
function showList(answer, chosen, body) {
  const open = (index) =>
    busily(async (isLatest) => {
      const answer = await send("POST", `/check/message?index=${index}`, body());
      const other = await answer.blob();
      if (!isLatest()) return;
      list.mark(index);
      opened = index;
      if (await showOther(isLatest, other)) result.scrollIntoView({ block: "nearest" });
    });
  list = new VerdictList(several, answer, open, () => checkSeveral(chosen));
  say(list.summary);
  if (list.length === 1) open(0);
  else several.focus();
}

/** Close the list of several messages. */
function closeList() {
  [list, opened] = [null, null];
  several.hidden = true;
}

/** Check the dropped or chosen files: one message, or several. */
async function take(chosen) {
  if (!chosen.length) return;
  user.blur(); // so that a name that is still being typed counts
  const isOne = chosen.length === 1 && (await chosen[0].slice(0, 5).text()) !== "From ";
  if (isOne) {
    closeList();
    checkOne(chosen[0]);
  } else {
    checkSeveral(chosen);
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (text.value.trim()) {
    take([new File([text.value.trimStart()], "pasted mail")]);
  } else if (files.files.length) {
    take([...files.files]);
  } else {
    say("Paste the source of a message first, or choose a file.", "wrong");
    text.focus();
  }
});

text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});

files.addEventListener("change", () => {
  text.value = "";
  take([...files.files]);
});

user.addEventListener("change", () => {
  history.replaceState(null, "", whose() ? `?${asUser()}` : location.pathname);
  busily(async () => {
    const said = `Press Check to see the verdict on a message${whose() && ` for ${whose()}`}.`;
    closeList();
    showNothing(said);
    tell(said);
  });
});

// What is dropped on an area of "Teach many at once" is not checked.
const isTaught = (event) => event.target.closest(".area") !== null;

addEventListener("dragover", (event) => {
  event.preventDefault();
  form.classList.toggle("over", !isTaught(event));
});
addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) form.classList.remove("over");
});
addEventListener("drop", (event) => {
  event.preventDefault();
  form.classList.remove("over");
  if (isTaught(event)) return;
  if (hasFolder(event.dataTransfer)) {
    say("A folder can be taught: drop it on an area of Teach many at once. To check mail, drop its files.", "wrong");
    return;
  }
  const dropped = [...event.dataTransfer.files];
  if (dropped.length) {
    text.value = "";
    files.files = event.dataTransfer.files; // so that the button Check checks them again
    take(dropped);
  } else {
    text.value = event.dataTransfer.getData("text/plain");
    if (text.value) form.requestSubmit();
  }
});

// Many lessons have changed the verdicts that are shown.
document.addEventListener("lessons", () => {
  list?.age();
  if (mail) busily((isLatest) => show(isLatest, mail));
});

function press(button) {
  if (!button || button.disabled || button.hidden || button.closest('[aria-busy="true"]')) return;
  if ("undo" in button.dataset) takeBack(undo);
  else if ("forget" in button.dataset) takeBack(forget);
  else if (button.dataset.rule) makeRule(button.dataset);
  else if (button.dataset.act) correct(button.closest("[data-query]"), button.dataset.act, button.dataset.to);
  else if (button.dataset.label) teach(button.dataset.label);
}

result.addEventListener("click", (event) => press(event.target.closest("button")));

// Single keys work only while the result has the focus.
result.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  press(result.querySelector(`button[data-key="${CSS.escape(event.key.toLowerCase())}"]`));
});
