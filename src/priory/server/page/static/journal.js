// The view Journal: filters while you type, forgets after a question, corrects labels and removes rules with undo.
import { made, pageAt, problem, say, send } from "/assets/shell.js";

const PAUSE_MS = 250;
const filter = document.getElementById("filter");
let asking = null;
let pause = 0;

/** Show the lessons of an address. */
async function show(address) {
  asking?.abort();
  const mine = (asking = new AbortController());
  const before = document.getElementById("found");
  before.setAttribute("aria-busy", "true");
  try {
    const page = await pageAt(address, mine.signal);
    before.replaceWith(page.getElementById("found"));
    history.replaceState(null, "", address);
    const summary = document.getElementById("summary") ?? document.getElementById("found");
    document.getElementById("spoken").textContent = summary.textContent;
  } catch (error) {
    if (error.name === "AbortError") return;
    before.removeAttribute("aria-busy");
    if (error.status > 0) location.assign(address); // that page shows the error
    else problem(error);
  }
}

/** Return the address for the fields of the form that are filled in. */
function address() {
  const said = [...new FormData(filter)].filter(([, value]) => value.trim() !== "");
  const query = new URLSearchParams(said).toString();
  return query ? `/journal?${query}` : "/journal";
}

filter?.addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(() => filter.checkValidity() && show(address()), PAUSE_MS);
});
filter?.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(pause);
  show(address());
});

/** Ask a question; return whether the answer is yes. */
function confirmed(title, text, yes) {
  const dialog = document.createElement("dialog");
  const head = made("h2", title);
  const row = document.createElement("form");
  head.id = "asked";
  row.method = "dialog";
  row.className = "row";
  for (const [value, words, kind] of [["no", "Keep them", ""], ["yes", yes, "danger"]]) {
    const button = made("button", words, `button ${kind}`);
    button.value = value;
    row.append(button);
  }
  dialog.setAttribute("aria-labelledby", "asked");
  dialog.append(head, made("p", text), row);
  document.body.append(dialog);
  return new Promise((answer) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      answer(dialog.returnValue === "yes");
    });
    dialog.showModal();
  });
}

const lessons = (n) => `${n.toLocaleString("en")} ${n === 1 ? "lesson" : "lessons"}`;

async function forgetMany(button) {
  const { query, expect, words } = button.dataset;
  const n = Number(expect);
  const text = `Their effect on the filter is removed exactly. Only learning the mail again brings it back. Selected: ${words}.`;
  if (!(await confirmed(`Forget ${lessons(n)}?`, text, `Forget ${lessons(n)}`))) return button.focus();
  button.disabled = true;
  button.textContent = "Forgetting…";
  try {
    const answer = await send("POST", `/v1/messages/forget?${query}&expect=${expect}`);
    say(`${lessons((await answer.json()).forgotten)} forgotten.`);
  } catch (error) {
    problem(error);
  }
  await show(location.href);
  return document.getElementById("found").focus();
}

/** Replace the buttons of a lesson by the outcome, and by a button to undo it if possible. */
function settled(item, text, undo) {
  const acts = item.querySelector(".acts");
  const before = [...acts.children];
  item.classList.add("done");
  acts.replaceChildren(made("span", text));
  say(text);
  if (!undo) return;
  const button = made("button", "Undo", "button small");
  button.type = "button";
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await undo();
      item.classList.remove("done", "changed");
      acts.replaceChildren(...before);
      before.forEach((each) => (each.disabled = false));
      before[0].focus();
      say("Undone.");
    } catch (error) {
      button.disabled = false;
      problem(error);
    }
  });
  acts.append(button);
  button.focus();
}

/** Change one lesson; throw an error if it does not exist any more. */
async function done(act, query, label) {
  const answer = await (await send("POST", `/v1/messages/${act}?${query}&label=${encodeURIComponent(label)}`)).json();
  if (answer.outcome === "unknown") throw new Error("gone");
  return answer;
}

const ACTS = {
  async forget(item) {
    await send("POST", `/v1/messages/forget?${item.dataset.query}&expect=1`);
    item.classList.add("changed");
    settled(item, "Forgotten.");
  },
  async relearn(item, to) {
    const { query, label } = item.dataset;
    await done("relearn", query, to);
    item.classList.add("changed");
    settled(item, `Now it is ${to}.`, () => done("relearn", query, label));
  },
  async confirm(item) {
    const { query, label } = item.dataset;
    await done("confirm", query, label);
    settled(item, `Confirmed: it is ${label}.`, () => done("doubt", query, label));
  },
  async unrule(item) {
    const { query, effect } = item.dataset;
    await send("DELETE", `/v1/rules?${query}`);
    item.classList.add("changed");
    settled(item, "Removed.", () => send("POST", `/v1/rules?${effect}&${query}`));
  },
};

document.getElementById("main").addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (button?.id === "forget-many") return forgetMany(button);
  const item = button?.closest("[data-query]");
  if (!button?.dataset.act || !item) return undefined;
  button.disabled = true;
  try {
    await ACTS[button.dataset.act](item, button.dataset.to);
  } catch (error) {
    button.disabled = false;
    if (error.message === "gone" || error.status === 409) say("This lesson does not exist any more; reload the page.", "wrong");
    else problem(error);
  }
  return undefined;
});
