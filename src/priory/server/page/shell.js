// What all views use: asking the daemon, and saying to the person what has happened.

const csrf = document.querySelector('meta[name="csrf"]').content;
const SHOWN_MS = 6000;

/** What the daemon says is wrong, in its own words. */
export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
    this.detail = detail;
  }
}

/** Ask the daemon something; returns its answer, or throws a Problem, or an AbortError if the signal says so. */
export async function send(method, url, body = null, headers = {}, signal = null) {
  const said = { Accept: "application/json", "X-Priory-CSRF": csrf, ...headers };
  let answer;
  try {
    answer = await fetch(url, { method, body, headers: said, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The daemon does not answer. Is it running?");
  }
  if (answer.ok) return answer;
  const why = await answer.json().catch(() => ({}));
  if (answer.status === 401) location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  throw new Problem(answer.status, why.detail ?? `The daemon answered ${answer.status}.`);
}

/** Markup from the daemon as a document, in which nothing runs. */
export const parsed = (markup) => new DOMParser().parseFromString(markup, "text/html");

/** Ask for a page as it is now; returns its document, or throws. Whose session has ended is led to the door. */
export async function pageAt(address, signal = null) {
  const answer = await send("GET", address, null, { Accept: "text/html" }, signal);
  if (answer.redirected) {
    location.assign(answer.url);
    throw new Problem(401, "Your session has ended; log in again.");
  }
  return parsed(await answer.text());
}

/** Open in what comes the tables of plots that are open in what it replaces. */
export function keepOpen(now, next) {
  for (const details of now.querySelectorAll("figure details[open]")) {
    const same = next.querySelector(`#${CSS.escape(details.closest("figure").id)} details`);
    if (same) same.open = true;
  }
}

/** An element with a text, of some classes. */
export function made(tag, text, kind = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  element.className = kind;
  return element;
}

/** Say to who listens what who looks has before their eyes. */
export function tell(text) {
  document.getElementById("spoken").textContent = text;
}

/** Say what has happened, to who looks and to who listens. */
export function say(text, kind = "") {
  tell(text);
  const toast = made("p", text, `toast ${kind}`);
  document.getElementById("toasts").replaceChildren(toast);
  setTimeout(() => toast.remove(), SHOWN_MS);
}

/** Say what has gone wrong; what is no Problem is a mistake of ours, and must be seen as one. */
export function problem(error) {
  say(error instanceof Problem ? error.detail : "Something is wrong with this page; load it anew.", "wrong");
  if (!(error instanceof Problem)) throw error;
}
