// The view Health: fetches the page regularly, and replaces the parts that have changed.
import { keepOpen, pageAt } from "/assets/shell.js";

const EVERY_MS = 10_000;
const silent = document.getElementById("silent");
const state = document.getElementById("state");
const clock = () => new Date().toLocaleTimeString();
let seen = clock();
const chosen = document.getElementById("up-to-date");

function replace(now, next) {
  keepOpen(now, next);
  if (now.innerHTML === next.innerHTML) return;
  const focused = now.contains(document.activeElement) ? places(now).indexOf(document.activeElement) : -1;
  now.replaceChildren(...next.childNodes);
  if (focused >= 0) places(now)[focused]?.focus({ preventScroll: true });
}

const places = (part) => [...part.querySelectorAll("summary, a, [tabindex]")];

/** Report that the daemon does not answer, instead of its last state. */
function fallSilent(why) {
  const said = `${why} The data below are of ${seen}.`;
  if (silent.textContent !== said) silent.textContent = said; // so that it is announced once
  silent.hidden = false;
  state.hidden = true;
}

async function refresh() {
  if (!chosen.checked || document.hidden) return;
  let next;
  try {
    next = await pageAt(location.href);
  } catch (error) {
    fallSilent(error.detail ?? error.message);
    return; // the next attempt may succeed
  }
  silent.hidden = true;
  state.hidden = false;
  seen = clock();
  for (const part of document.querySelectorAll("[data-live]")) {
    const other = next.getElementById(part.id);
    if (other) replace(part, other);
  }
}

chosen.disabled = false;
chosen.addEventListener("change", refresh);
document.addEventListener("visibilitychange", refresh);
setInterval(refresh, EVERY_MS);
