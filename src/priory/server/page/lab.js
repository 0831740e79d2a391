// Follows a comparison that is under way, and shows what came of it when it is over.
import { problem, say, send } from "/assets/shell.js";

const AGAIN_MS = 3000;

/** Keep the panel of a comparison up to date, until its end. */
function follow(panel) {
  const events = new EventSource(`/v1/evaluate/${panel.dataset.run}/events`);
  events.addEventListener("progress", (event) => show(panel, JSON.parse(event.data)));
  events.addEventListener("end", (event) => {
    events.close();
    refresh(JSON.parse(event.data).words).catch(problem);
  });
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED) setTimeout(() => refresh().catch(problem), AGAIN_MS);
  });
}

function show(panel, run) {
  panel.querySelector("#far").textContent = run.words;
  const bar = panel.querySelector("progress");
  if (run.total > 0) {
    bar.max = run.total;
    bar.value = run.done;
  } else {
    bar.removeAttribute("value");
  }
  if (run.state === "stopping") {
    const button = panel.querySelector("button");
    button.disabled = true;
    button.textContent = "Stopping …";
  }
}

/** Take what has changed from the page as it is now; what was chosen in the form stays. */
async function refresh(words = "") {
  const answer = await send("GET", "/lab", null, { Accept: "text/html" });
  const now = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("lab");
  const chosen = new Map([...document.querySelectorAll(".comparison [name]")].map((field) => [key(field), state(field)]));
  document.getElementById("lab").replaceChildren(...now.childNodes);
  for (const field of document.querySelectorAll(".comparison [name]")) restore(field, chosen.get(key(field)));
  if (words) say(words);
  begin();
}

const key = (field) => `${field.name}=${field.type === "radio" ? field.value : ""}`;
const isBox = (field) => field.type === "checkbox" || field.type === "radio";
const state = (field) => (isBox(field) ? field.checked : field.value);

function restore(field, was) {
  if (was === undefined) return;
  if (isBox(field)) field.checked = was;
  else field.value = was;
}

function begin() {
  document.querySelectorAll("[data-run]").forEach(follow);
}

begin();
