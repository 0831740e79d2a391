// Keeps the Health view up to date: asks for the page again, and puts in place only what is different.
import { keepOpen, pageAt } from "/assets/shell.js";

const EVERY_MS = 10_000;
const chosen = document.getElementById("up-to-date");

function replace(now, next) {
  keepOpen(now, next);
  if (now.innerHTML === next.innerHTML) return;
  const focused = now.contains(document.activeElement) ? places(now).indexOf(document.activeElement) : -1;
  now.replaceChildren(...next.childNodes);
  if (focused >= 0) places(now)[focused]?.focus({ preventScroll: true });
}

const places = (part) => [...part.querySelectorAll("summary, a, [tabindex]")];

async function refresh() {
  if (!chosen.checked || document.hidden) return;
  let next;
  try {
    next = await pageAt(location.href);
  } catch {
    return; // the daemon is starting anew, or gone: what was there stays, and the next look may succeed
  }
  for (const now of document.querySelectorAll("[data-live]")) {
    const part = next.getElementById(now.id);
    if (part) replace(now, part);
  }
}

chosen.disabled = false;
chosen.addEventListener("change", refresh);
document.addEventListener("visibilitychange", refresh);
setInterval(refresh, EVERY_MS);
