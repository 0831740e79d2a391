// The list of verdicts on several messages; each message can be opened.
import { made } from "/assets/shell.js";

const ROWS = 200; // added at a time

/** A list of verdicts in a section of the page; `open` is called with the index of a message, `again` checks all. */
export class VerdictList {
  #messages;
  #rows = document.createElement("tbody");
  #summary = made("p", "");
  #old = made("p", "The other lines are from before the lesson. ", "quiet");
  #open;

  constructor(section, { messages, passed_over: passedOver, stopped }, open, again) {
    this.#messages = messages;
    this.#open = open;
    section.replaceChildren(this.#summary);
    for (const { source, reason } of passedOver) section.append(made("p", `${source}: ${reason}`, "notice"));
    if (stopped) section.append(made("p", stopped, "notice"));
    if (messages.length > 1) section.append(this.#old, this.#table());
    const button = made("button", "Check all again", "button small");
    button.type = "button";
    button.addEventListener("click", again);
    this.#old.append(button);
    this.#old.hidden = true;
    this.#summarise();
  }

  get length() {
    return this.#messages.length;
  }

  /** The number of messages of each verdict, in words. */
  get summary() {
    return this.#summary.textContent;
  }

  /** Mark the line of the message that is open. */
  mark(index) {
    this.#rows.querySelector("tr[aria-current]")?.removeAttribute("aria-current");
    this.#rows.children[index]?.setAttribute("aria-current", "true");
  }

  /** Show another verdict on a message: in its line, and in the summary. */
  update(index, verdict) {
    Object.assign(this.#messages[index], verdict);
    const isOpen = this.#rows.children[index]?.getAttribute("aria-current");
    this.#rows.children[index]?.replaceWith(this.#row(index));
    if (isOpen) this.mark(index);
    this.#summarise();
  }

  /** Say that a lesson may have changed the verdicts. */
  age() {
    this.#old.hidden = false;
  }

  #summarise() {
    const counts = new Map();
    for (const { label } of this.#messages) counts.set(label, (counts.get(label) ?? 0) + 1);
    const n = `${this.length.toLocaleString("en")} message${this.length === 1 ? "" : "s"}`;
    this.#summary.textContent = `${n}: ${[...counts].map(([label, k]) => `${k} ${label}`).join(", ") || "none"}.`;
  }

  #table() {
    const box = document.createElement("div");
    box.className = "scroll";
    box.tabIndex = 0;
    box.role = "region";
    box.ariaLabel = "Messages";
    const head = document.createElement("thead");
    head.append(line("th", ["Verdict", "Probability", "Subject", "Sender", "File"]));
    const more = made("button", "", "button small");
    more.type = "button";
    const add = () => {
      const start = this.#rows.childElementCount;
      for (let i = start; i < Math.min(start + ROWS, this.length); i++) this.#rows.append(this.#row(i));
      more.textContent = `Show more (${(this.length - this.#rows.childElementCount).toLocaleString("en")})`;
      more.hidden = this.#rows.childElementCount === this.length;
    };
    more.addEventListener("click", add);
    add();
    const whole = document.createElement("table");
    whole.append(head, this.#rows);
    box.append(whole, more);
    return box;
  }

  #row(index) {
    const message = this.#messages[index];
    const kind = message.label === "unsure" ? "" : message.label === message.about ? "for" : "against";
    const chip = made("span", message.label, `said ${kind}`);
    const button = made("button", message.subject || "(no subject)", "link");
    button.type = "button";
    button.ariaLabel = `${button.textContent}, ${message.source}`;
    button.addEventListener("click", () => this.#open(index));
    const probability = `${message.about} ${message.probability.toFixed(4)}`;
    return line("td", [chip, probability, button, message.sender, message.source]);
  }
}

function line(tag, cells) {
  const row = document.createElement("tr");
  for (const content of cells) {
    const cell = document.createElement(tag);
    cell.append(content);
    row.append(cell);
  }
  return row;
}
