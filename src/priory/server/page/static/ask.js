// The view Ask: one key or button answers a question and goes on to the next; the answer is sent meanwhile.
import { problem, say, send, tell } from "/assets/shell.js";

const questions = document.getElementById("questions");
const end = document.getElementById("end");
const answered = []; // cards, the last one last
const sending = new Map(); // by card: what is sent about it, one after the other

const open = () => [...(questions?.querySelectorAll(".question:not(.answered)") ?? [])];

/** Send something about a card after what was sent about it before. */
function queue(card, act) {
  sending.set(card, (sending.get(card) ?? Promise.resolve()).then(act));
}

/** Show a card as answered, or as a question again. */
function mark(card, outcome) {
  const isAnswered = outcome !== "";
  card.classList.toggle("answered", isAnswered);
  card.querySelector(".body").hidden = isAnswered;
  card.querySelector(".done").hidden = !isAnswered;
  card.querySelector(".outcome").textContent = outcome;
  end.hidden = open().length > 0;
}

/** Go to the next question after a card, or to the end. */
function goOn(card) {
  const left = open();
  const next = left.find((each) => card.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING) ?? left[0];
  (next ?? document.getElementById("more")).focus();
}

/** Go back to a question whose answer was undone or could not be sent. */
function reopen(card) {
  const at = answered.lastIndexOf(card);
  if (at >= 0) answered.splice(at, 1);
  mark(card, "");
  card.focus();
}

/** Answer a question: show the next one at once, and send the answer. */
function answer(card, label) {
  const address = `/v1/ask/${card.dataset.digest}`;
  answered.push(card);
  mark(card, label === null ? "Skipped." : `It is ${label}.`);
  goOn(card);
  queue(card, async () => {
    try {
      const reply = await send(label === null ? "DELETE" : "POST", label === null ? address : `${address}?label=${encodeURIComponent(label)}`);
      const { outcome } = await reply.json();
      tell(label === null ? "Skipped." : outcome === "kept" ? `${label}: waits until the journal can be reached.` : `Learned: ${label}.`);
    } catch (error) {
      if (error.status === 404) gone(card, error);
      else {
        reopen(card);
        problem(error);
      }
    }
  });
}

/** Settle a card whose message has left the spool meanwhile. */
function gone(card, error) {
  const at = answered.lastIndexOf(card);
  if (at >= 0) answered.splice(at, 1);
  mark(card, "This message has left the spool.");
  card.querySelector("[data-undo]").hidden = true;
  say(error.detail, "wrong");
}

/** Undo the answer to a question, and ask it again. */
function undo(card) {
  if (!card) {
    say("There is no answer to undo.");
    return;
  }
  answered.splice(answered.lastIndexOf(card), 1);
  queue(card, async () => {
    try {
      await send("POST", `/v1/ask/${card.dataset.digest}/undo`);
      reopen(card);
      tell("Undone.");
    } catch (error) {
      if (error.status === 404) gone(card, error);
      else {
        answered.push(card);
        problem(error);
      }
    }
  });
}

function press(button) {
  const card = button.closest(".question");
  if ("undo" in button.dataset) undo(card);
  else if ("skip" in button.dataset) answer(card, null);
  else if (button.dataset.label) answer(card, button.dataset.label);
}

questions?.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button) press(button);
});

// Single keys work only while a question, or the end, has the focus; Space on a button presses that button.
questions?.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.key === " " && event.target.closest("button, a")) return;
  const key = event.key === " " ? "n" : event.key.toLowerCase();
  if (key === "u") {
    undo(answered.at(-1));
  } else {
    const card = event.target.closest(".question:not(.answered)");
    const button = card?.querySelector(`button[data-key="${CSS.escape(key)}"]`);
    if (!button) return;
    press(button);
  }
  event.preventDefault();
});

document.getElementById("more")?.addEventListener("click", async (event) => {
  event.preventDefault();
  await Promise.all(sending.values()); // otherwise these questions would be asked again
  location.assign("/ask");
});

open()[0]?.focus({ preventScroll: true });
