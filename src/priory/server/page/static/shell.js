// Shared by all views: requests to the daemon, and messages to the person.

const csrf = document.querySelector('meta[name="csrf"]').content;
const SHOWN_MS = 6000;

/** An error that the daemon has answered, or that it does not answer. */
export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
    this.detail = detail;
  }
}

/** Send a request; return the response, or throw a Problem, or an AbortError if it was aborted. */
export async function send(method, url, body = null, headers = {}, signal = null) {
  const said = { Accept: "application/json", "X-Priory-CSRF": csrf, ...headers };
  let answer;
  try {
    // A change that is being sent is not lost when the person leaves the page.
    answer = await fetch(url, { method, body, headers: said, signal, keepalive: method !== "GET" && body === null });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The daemon does not answer. Is it running?");
  }
  if (answer.ok) return answer;
  const why = await answer.json().catch(() => ({}));
  if (answer.status === 401) location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  throw new Problem(answer.status, why.detail ?? `The daemon answered ${answer.status}.`);
}

/** Parse HTML into a document in which no script runs. */
export const parsed = (markup) => new DOMParser().parseFromString(markup, "text/html");

/** Fetch a page; return its document, or throw. If the session has ended, go to the login. */
export async function pageAt(address, signal = null) {
  const answer = await send("GET", address, null, { Accept: "text/html" }, signal);
  if (answer.redirected) {
    location.assign(answer.url);
    throw new Problem(401, "Your session has ended; log in again.");
  }
  return parsed(await answer.text());
}

/** Open the tables of plots in new content that are open in the content it replaces. */
export function keepOpen(now, next) {
  for (const details of now.querySelectorAll("figure details[open]")) {
    const same = next.querySelector(`#${CSS.escape(details.closest("figure").id)} details`);
    if (same) same.open = true;
  }
}

/** Create an element with text and classes. */
export function made(tag, text, kind = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  element.className = kind;
  return element;
}

/** Announce a text to screen readers. */
export function tell(text) {
  document.getElementById("spoken").textContent = text;
}

/** Show a text for some seconds, and announce it to screen readers; a text that the page shows is only announced. */
export function say(text, kind = "") {
  tell(text);
  const toasts = document.getElementById("toasts");
  toasts.replaceChildren();
  if (isShown(text)) return;
  const toast = made("p", text, `toast ${kind}`);
  toasts.append(toast);
  setTimeout(() => toast.remove(), SHOWN_MS);
}

/** Tell whether a paragraph that the person can see now has exactly this text. */
function isShown(text) {
  return [...document.querySelectorAll("main p")].some((paragraph) => {
    const { top, bottom, height } = paragraph.getBoundingClientRect();
    return height && top >= 0 && bottom <= innerHeight && paragraph.textContent === text;
  });
}

/** Report an error; rethrow it if it is a bug and not a Problem. */
export function problem(error) {
  say(error instanceof Problem ? error.detail : "There is an error in this page; reload it.", "wrong");
  if (!(error instanceof Problem)) throw error;
}
