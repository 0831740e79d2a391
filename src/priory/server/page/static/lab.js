// The view Lab: follows a running comparison, and shows its result.
import { made, pageAt, problem, say } from "/assets/shell.js";

const AGAIN_MS = 3000;

/** Update the panel of a comparison until its end. */
function follow(panel) {
  const events = new EventSource(`/v1/evaluate/${panel.dataset.run}/events`);
  events.addEventListener("progress", (event) => show(panel, JSON.parse(event.data)));
  events.addEventListener("end", (event) => {
    events.close();
    conclude(panel, JSON.parse(event.data)).catch(problem);
  });
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED) setTimeout(() => follow(panel), AGAIN_MS);
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

/** Show the result in the panel; take the other parts from the current page. */
async function conclude(panel, run) {
  const now = await pageAt("/lab");
  const bar = panel.querySelector("progress");
  bar.max = bar.value = 1;
  panel.setAttribute("aria-label", "Ended");
  panel.querySelector("h2").textContent = run.words;
  panel.querySelector("#far").textContent = run.why || run.lines[0] || "";
  const after = next(run);
  const hadFocus = panel.querySelector("form").contains(document.activeElement);
  panel.querySelector("form").replaceWith(after);
  if (hadFocus) after.focus();
  for (const id of ["intro", "go", "results"]) document.getElementById(id).replaceWith(now.getElementById(id));
  say(run.words);
}

/** Return the link to the report or the results. */
function next(run) {
  const link = made("a", run.page ? "Open the report" : "See all results", "button");
  link.href = run.page ?? "#results";
  if (run.page) {
    link.target = "_blank";
    link.rel = "noopener";
  }
  return link;
}

document.querySelectorAll("[data-run]").forEach(follow);
