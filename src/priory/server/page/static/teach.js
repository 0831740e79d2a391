// The part "Teach many at once" of the view Check: choose mailboxes and folders, see the progress, stop, continue, undo.
import { Plan, chosenFiles, droppedFiles } from "/assets/mail_files.js";
import { Problem, made, pageAt, problem, say, tell } from "/assets/shell.js";
import { Teaching } from "/assets/teaching.js";

const MOST_SHOWN = 100; // skipped files
const LOOK_EVERY_MS = 200; // while files are read

const part = document.getElementById("teach-many");
const user = document.getElementById("user");
const find = (name) => part.querySelector(`[data-part="${name}"]`);
const [chosen, progress, outcome] = ["chosen", "progress", "outcome"].map(find);
const bar = progress.querySelector("progress");
const label = chosen.querySelector("select");

const count = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
const megabytes = (bytes) => `${(bytes / 1e6).toLocaleString("en", { maximumFractionDigits: 1 })} MB`;

let plan = null; // what was chosen
let teaching = null; // the present or latest teaching of it
let isStopped = false;
let isBusy = false; // while files are read, sent or forgotten

/** Run an action; meanwhile nothing else can be started, and leaving the page asks for confirmation. */
async function busily(act) {
  if (isBusy) return;
  isBusy = true;
  isStopped = false;
  setDisabled(true);
  try {
    await act();
  } finally {
    isBusy = false;
    progress.hidden = true;
    setDisabled(false);
  }
}

function setDisabled(is) {
  for (const input of part.querySelectorAll(".area button, [data-part=outcome] button")) input.disabled = is;
}

function showProgress(done, total, words) {
  progress.hidden = false;
  bar.max = total || 1;
  bar.value = done;
  progress.querySelector("p").textContent = words;
}

/** Find the messages of some files, and ask what they are. */
async function survey(collect, theirs) {
  await busily(async () => {
    outcome.replaceChildren();
    chosen.hidden = true;
    const files = await collect.catch(() => null);
    if (!files) {
      say("The folder cannot be read. Choose it with the button, or drop the files that are in it.", "wrong");
      return;
    }
    const bytes = files.reduce((sum, { file }) => sum + file.size, 0);
    const found = new Plan(Number(part.dataset.mostBytes));
    let shown = 0;
    const look = (read) => {
      if (performance.now() - shown > LOOK_EVERY_MS) {
        shown = performance.now();
        showProgress(read, bytes, `Looking for messages: ${megabytes(read)} of ${megabytes(bytes)}, ${count(found.n, "message")}.`);
      }
      return !isStopped;
    };
    if (!(await found.add(files, look))) return;
    plan = found;
    showPlan(files, theirs);
  });
}

function showPlan(files, theirs) {
  const names = files.length === 1 ? files[0].name : count(files.length, "file");
  const skipped = plan.skipped.length ? ` ${count(plan.skipped.length, "file")} cannot be taught.` : "";
  if (!plan.n) {
    outcome.append(made("p", `There is no mail in ${names}.${skipped}`, "notice"), skippedList(plan.skipped));
    tell(`There is no mail in ${names}.`);
    return;
  }
  const words = `${count(plan.n, "message")} in ${names}, ${megabytes(plan.bytes)}.${skipped}`;
  chosen.querySelector("p").textContent = words;
  label.value = theirs;
  nameButton();
  chosen.hidden = false;
  chosen.querySelector("[data-do=teach]").focus();
  tell(words);
}

function nameButton() {
  const [what, it] = plan.n === 1 ? ["this message", "is"] : [`these ${plan.n.toLocaleString("en")} messages`, "are"];
  chosen.querySelector("[data-do=teach]").textContent = `Teach that ${what} ${it} ${label.value}`;
}

/** Teach what is left, and say how it ended. */
async function teach() {
  await busily(async () => {
    chosen.hidden = true;
    outcome.replaceChildren();
    let failed = null;
    showDone();
    try {
      while (!teaching.isOver && !isStopped) {
        await teaching.step();
        showDone();
      }
      await teaching.recount();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      failed = error;
    }
    progress.hidden = true;
    if (failed?.status === 401) isBusy = false; // the login follows
    showOutcome(failed);
    await refresh().catch(() => {}); // the outcome says if the daemon is away
  });
}

function counted({ outcomes, skipped }) {
  const { learned, known, relearned, kept } = outcomes;
  return [
    `${learned.toLocaleString("en")} learned`,
    relearned && `${relearned.toLocaleString("en")} corrected`,
    kept && `${kept.toLocaleString("en")} kept until the journal can be reached`,
    `${known.toLocaleString("en")} known already`,
    `${skipped.length.toLocaleString("en")} skipped`,
  ].filter(Boolean).join(", ");
}

function showDone() {
  const { done, plan: { n }, label } = teaching;
  showProgress(done, n, `${done.toLocaleString("en")} of ${count(n, "message")} as ${label}: ${counted(teaching)}.`);
}

function showOutcome(failed) {
  const { done, plan: { n }, label, isOver, skipped, outcomes } = teaching;
  const all = isOver ? count(n, "message") : `${done.toLocaleString("en")} of ${count(n, "message")}`;
  const words = `${isOver ? "Taught" : failed ? "Interrupted after" : "Stopped after"} ${all} as ${label}: ${counted(teaching)}.`;
  const line = made("p", words, isOver ? "notice good" : "notice");
  if (failed) outcome.append(made("p", `${failed.detail} What is counted here is stored. Continue when this is mended.`, "notice wrong"));
  const row = made("div", "", "row");
  if (!isOver) row.append(button("Continue", teach, "primary"));
  const nLessons = outcomes.learned + outcomes.relearned + outcomes.kept;
  if (nLessons || failed) row.append(button("Undo", undo), journalLink());
  outcome.append(line, row, skippedList(skipped));
  say(words);
  line.tabIndex = -1;
  (isOver ? line : row.querySelector("button")).focus(); // nothing is undone by a key pressed too often
}

function journalLink() {
  const link = made("a", "These lessons in the journal", "");
  link.href = `/journal?source=${encodeURIComponent(`http:${teaching.name}/`)}`;
  return link;
}

function button(words, act, kind = "") {
  const element = made("button", words, `button ${kind}`);
  element.type = "button";
  element.addEventListener("click", act);
  return element;
}

function skippedList(skipped) {
  if (!skipped.length) return "";
  const details = document.createElement("details");
  const list = document.createElement("ul");
  for (const { source, reason } of skipped.slice(0, MOST_SHOWN)) list.append(made("li", `${source}: ${reason}`));
  if (skipped.length > MOST_SHOWN) list.append(made("li", `and ${count(skipped.length - MOST_SHOWN, "other")}`));
  details.append(made("summary", `${skipped.length.toLocaleString("en")} skipped`), list);
  return details;
}

/** Forget exactly the lessons of the latest teaching. */
async function undo() {
  await busily(async () => {
    showProgress(0, 0, "Forgetting…");
    bar.removeAttribute("value");
    const nCorrected = teaching.corrected.length;
    try {
      const n = await teaching.undo();
      const corrected = nCorrected ? ` Corrected lessons have their former label again: ${nCorrected.toLocaleString("en")}.` : "";
      const words = `${count(n, "lesson")} forgotten.${corrected}`;
      outcome.replaceChildren(made("p", words, "notice good"));
      teaching = null;
      chosen.hidden = false;
      say(words);
    } catch (error) {
      problem(error);
    }
    await refresh().catch(() => {});
  });
}

/** Show the numbers of lessons by now; when they suffice for verdicts for the first time, offer the first one. */
async function refresh() {
  const next = await pageAt(location.href);
  const before = document.querySelector("#guide");
  document.getElementById("learned").replaceWith(next.getElementById("learned"));
  const guide = next.getElementById("guide");
  if (before && guide) before.replaceWith(guide);
  else if (before) {
    before.remove();
    outcome.append(
      made("p", "The filter can judge mail now. Paste or drop a message that it does not know, for a first verdict."),
      button("Check a message", () => document.getElementById("text").focus(), "primary"),
    );
  }
  document.dispatchEvent(new Event("lessons"));
}

for (const area of part.querySelectorAll(".area")) {
  const theirs = area.dataset.label;
  for (const input of area.querySelectorAll("input")) {
    area.querySelector(`[data-opens="${input.id}"]`).addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      const files = chosenFiles(input);
      input.value = ""; // so that the same can be chosen again
      if (files.length) survey(Promise.resolve(files), theirs);
    });
  }
  area.addEventListener("dragover", () => area.classList.toggle("over", part.dataset.may === "learn"));
  area.addEventListener("dragleave", () => area.classList.remove("over"));
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    area.classList.remove("over");
    if (part.dataset.may !== "learn") return;
    survey(droppedFiles(event.dataTransfer), theirs);
  });
}
label.addEventListener("change", nameButton);
chosen.querySelector("[data-do=teach]").addEventListener("click", () => {
  teaching = new Teaching(plan, label.value, user.value.trim());
  teach();
});
chosen.querySelector("[data-do=cancel]").addEventListener("click", () => {
  chosen.hidden = true;
});
progress.querySelector("button").addEventListener("click", () => {
  isStopped = true;
});
addEventListener("beforeunload", (event) => {
  if (isBusy) event.preventDefault();
});
