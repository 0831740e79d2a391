// The sliders for two classes and the table of costs for more: they change the state and ask for a drawing.
"use strict";

// Prices a slider stops at, with those that were given among them.
function prices(given) {
  const round = [-1, 0, 1, 2, 3].flatMap((power) => [1, 1.5, 2, 3, 4, 5, 6, 8].map((m) => Number((m * 10 ** power).toPrecision(2))));
  return [...new Set([0, ...round, ...given])].sort((a, b) => a - b);
}

function sliders(state, data, { element, thresholdWords, amount, reach, redraw, runs }) {
  const first = structuredClone(state.costs);
  const stops = prices([first.matrix[1][0], first.matrix[0][1], first.unsure].filter(Number.isFinite));
  const costs = {
    "cost-lost": { stops, get: () => state.costs.matrix[1][0], set: (value) => (state.costs.matrix[1][0] = value) },
    "cost-missed": { stops, get: () => state.costs.matrix[0][1], set: (value) => (state.costs.matrix[0][1] = value) },
    "cost-unsure": { stops: [...stops, Infinity], get: () => state.costs.unsure, set: (value) => (state.costs.unsure = value) },
  };
  const end = Math.asinh(reach);

  function tell(id, value, words) {
    element(id).value = value;
    element(id).setAttribute("aria-valuetext", words);
    element(`${id}-value`).textContent = words;
  }

  function show() {
    tell("sure", Math.asinh(state.at.sure), thresholdWords(state.at.sure));
    const zone = state.at.unsure < state.at.sure;
    tell("unsure", Math.asinh(state.at.unsure), zone ? thresholdWords(state.at.unsure) : "never");
    for (const [id, { stops: at, get }] of Object.entries(costs)) tell(id, at.indexOf(get()), amount(get()));
    redraw();
  }

  function implied() {
    state.at = operating.thresholds(state.costs);
    show();
  }

  // Above its end a slider means: never; the two thresholds push each other.
  function moveTo(sure, unsure = Math.min(state.at.unsure, sure)) {
    state.at = { sure: Math.max(sure, unsure), unsure };
    show();
  }

  for (const [id, { stops: at, set }] of Object.entries(costs)) {
    Object.assign(element(id), { min: 0, max: at.length - 1, step: 1 });
    element(id).addEventListener("input", (event) => {
      set(at[Number(event.target.value)]);
      implied();
    });
  }
  for (const id of ["sure", "unsure"]) Object.assign(element(id), { min: -end, max: end, step: end / 200 });
  element("sure").addEventListener("input", (event) => moveTo(Math.sinh(Number(event.target.value))));
  element("unsure").addEventListener("input", (event) => {
    const unsure = Math.sinh(Number(event.target.value));
    moveTo(Math.max(state.at.sure, unsure), unsure);
  });
  element("implied").addEventListener("click", implied);
  element("cheapest").addEventListener("click", () => {
    const { threshold } = operating.costCurve(runs[state.chosen], state.costs).cheapest;
    moveTo(threshold, threshold);
  });
  element("again").addEventListener("click", () => {
    state.costs = structuredClone(first);
    implied();
  });
  state.at = operating.thresholds(state.costs);
  return { show, moveTo };
}

function costTable(state, data, { element, redraw }) {
  const first = structuredClone(state.costs);
  const cells = Array.from(document.querySelectorAll("input[data-said]"));
  const inputs = [...cells, element("cost-unsure")];

  function read(input) {
    const { said, truth } = input.dataset;
    if (!input.validity.valid || (input.value === "" && said !== undefined)) return;
    if (said === undefined) state.costs.unsure = input.value === "" ? Infinity : Number(input.value);
    else state.costs.matrix[said][truth] = Number(input.value);
    redraw();
  }

  function show() {
    for (const cell of cells) cell.value = state.costs.matrix[cell.dataset.said][cell.dataset.truth];
    element("cost-unsure").value = Number.isFinite(state.costs.unsure) ? state.costs.unsure : "";
    redraw();
  }

  for (const input of inputs) input.addEventListener("input", () => read(input));
  element("again").addEventListener("click", () => {
    state.costs = structuredClone(first);
    show();
  });
  return { show };
}
