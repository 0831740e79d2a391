// The view Costs: couples sliders and fields, fetches their effect while they move, and applies them on confirmation.
import { keepOpen, made, pageAt, problem, say, send } from "/assets/shell.js";

const STILL_MS = 700; // without movement before the result is announced
const form = document.getElementById("costs");
const apply = document.getElementById("apply");
const question = document.getElementById("question");
const outcome = document.getElementById("outcome"); // the effect, in the question
const sure = document.getElementById("sure");
const numbers = [...form.querySelectorAll('input[type="number"]')];
const sliders = new Map([...form.querySelectorAll('input[type="range"]')].map((slider) => [slider.dataset.for, slider]));

const differs = (number) => Number(number.value) !== Number(number.dataset.now);
const isWhole = () => numbers.every((number) => number.checkValidity());

function moveSlider(number) {
  const slider = sliders.get(number.id);
  slider.value = Number(number.value) > 0 ? Math.log10(Number(number.value)) : slider.min;
  slider.setAttribute("aria-valuetext", number.value);
}

function moved() {
  apply.disabled = !("may" in apply.dataset && isWhole() && numbers.some(differs));
  if (isWhole()) show();
}

/** Return the address of the view with the costs of the form. */
function address() {
  return `/costs?${new URLSearchParams(new FormData(form))}`;
}

/** Replace the figures by those of a page; open tables stay open. */
function put(page) {
  const before = document.getElementById("figures");
  const after = page.getElementById("figures");
  keepOpen(before, after);
  before.replaceWith(document.adoptNode(after));
  if (!again) outcome.textContent = document.getElementById("words").textContent;
}

let asking = false;
let again = false;
let still = 0;

/** Fetch the figures for the current costs; one request at a time, then one for the latest costs. */
async function show() {
  clearTimeout(still);
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  const where = address();
  const busy = setTimeout(() => document.getElementById("figures").setAttribute("aria-busy", "true"), 200);
  try {
    put(await pageAt(where));
    history.replaceState(null, "", where);
    still = setTimeout(() => {
      document.getElementById("spoken").textContent = document.getElementById("words").textContent;
    }, STILL_MS);
  } catch (error) {
    document.getElementById("figures").removeAttribute("aria-busy");
    problem(error);
  } finally {
    clearTimeout(busy);
    asking = false;
    if (again) {
      again = false;
      show();
    }
  }
}

form.addEventListener("input", ({ target }) => {
  if (target.type === "range") {
    const number = document.getElementById(target.dataset.for);
    number.value = Number((10 ** Number(target.value)).toPrecision(2));
    target.setAttribute("aria-valuetext", number.value);
  } else {
    moveSlider(target);
  }
  moved();
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (isWhole()) show();
});

document.getElementById("reset").addEventListener("click", (event) => {
  event.preventDefault();
  for (const number of numbers) {
    number.value = number.dataset.now;
    moveSlider(number);
  }
  moved();
});

apply.addEventListener("click", () => {
  const lines = numbers
    .filter(differs)
    .map((number) => made("li", `${number.dataset.said}: ${number.dataset.now} → ${Number(number.value)}`));
  document.getElementById("differences").replaceChildren(...lines);
  outcome.textContent = asking ? "…" : document.getElementById("words").textContent; // otherwise the answer fills it in
  question.showModal();
});

document.getElementById("cancel").addEventListener("click", () => question.close());

/** Return the costs of the form in the format of the API. */
function costs() {
  const prices = {};
  for (const number of numbers) {
    const [said, truth] = number.name.split(".");
    if (truth === undefined) prices[said] = Number(number.value);
    else (prices[said] ??= {})[truth] = Number(number.value);
  }
  return prices;
}

sure.addEventListener("click", async () => {
  sure.disabled = true;
  sure.textContent = "Applying…";
  try {
    await send("PUT", "/v1/costs", JSON.stringify({ costs: costs() }), { "Content-Type": "application/json" });
    for (const number of numbers) number.dataset.now = String(Number(number.value));
    question.close();
    say("The new costs are in force.");
    moved();
  } catch (error) {
    question.close();
    problem(error);
  } finally {
    sure.disabled = false;
    sure.textContent = "Apply";
  }
});
