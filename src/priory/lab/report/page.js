// What the reader moves, and what moves with it: one operating point for all plots, the matrix and the sentence.
"use strict";

const page = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const nClasses = data.classes.length;
  const two = nClasses === 2;
  const runs = data.runs.map((packed) => operating.unpack(packed, nClasses));
  const element = (id) => document.getElementById(id);
  const copy = ({ matrix, unsure }) => ({ matrix: matrix.map((row) => [...row]), unsure: unsure ?? Infinity });
  const state = { chosen: 0, about: 1, logarithmic: true, costs: copy(data.costs), at: null };

  // Percentages with as many digits as they need to differ from none and from all.
  function percent(share) {
    if (!Number.isFinite(share)) return "unknown";
    if (share > 0 && share < 1e-6) return "< 0.0001 %";
    if (share < 1 && share > 1 - 1e-6) return "> 99.9999 %";
    const rest = Math.min(share, 1 - share) * 100;
    const digits = rest > 0 ? Math.min(Math.max(1 - Math.floor(Math.log10(rest)), 1), 4) : 0;
    return `${(share * 100).toFixed(digits)} %`;
  }

  const amount = (number) => (Number.isFinite(number) ? String(Number(number.toPrecision(3))) : "never");
  const count = (number) => number.toLocaleString("en");

  // How far the log-odds of a run reach: the width of two of its plots. Over all runs: that of the threshold sliders.
  function reachOf(run, about) {
    let most = 5;
    for (const l of run.about[about]) if (Number.isFinite(l)) most = Math.max(most, Math.abs(l));
    return most * 1.05;
  }

  const abouts = Object.keys(runs[0].about);
  for (const run of runs) run.reach = Object.fromEntries(abouts.map((about) => [about, reachOf(run, about)]));
  const reach = Object.fromEntries(abouts.map((about) => [about, Math.max(...runs.map((run) => run.reach[about]))]));

  function thresholdWords(logOdds) {
    const words = percent(operating.probability(logOdds));
    return Math.abs(logOdds) <= reach[state.about] ? `${words}, log-odds ${logOdds.toFixed(2).replace("-", "−")}` : words;
  }

  // Everything that is drawn or written, from the state alone.
  function view() {
    const run = runs[state.chosen];
    const { about, at, costs } = state;
    const said = operating.saidBy(run, { ...costs, at }, nClasses);
    const counts = two ? operating.confusionAt(run, at) : operating.confusionOf(run, said, nClasses);
    const found = operating.rates(counts, about);
    const points = [{ name: "chosen", ...found }];
    if (two && at.unsure < at.sure) {
      const from = operating.confusionAt(run, { unsure: at.unsure, sure: at.unsure });
      points.push({ name: "unsure from here", ...operating.rates(from, about) });
    }
    const names = { plainAbout: data.classes[about], plainOthers: two ? data.classes[1 - about] : "others" };
    names.about = plots.escaped(names.plainAbout);
    names.others = plots.escaped(names.plainOthers);
    return { run, runs, chosen: state.chosen, about, at: two ? at : null, counts, rates: found, names, operatingPoints: points,
      reach: run.reach[about], sorted: run.sorted[about], logarithmic: state.logarithmic,
      windows: operating.drift(run, said, about, nClasses), costPerMessage: operating.costPerMessage(counts, costs),
      costCurve: two ? operating.costCurve(run, costs) : null };
  }

  function sentence({ counts, rates, costPerMessage }) {
    const total = (row) => operating.sum(row);
    const cost = `cost per message ${Number.isFinite(costPerMessage) ? amount(costPerMessage) : "without limit"}`;
    const unsure = `${percent(rates.unsure)} unsure`;
    if (!two) return `${percent(rates.accuracy)} right, ${unsure}, ${cost}.`;
    const [[, lost], [missed]] = counts;
    return `${count(lost)} of ${count(total(counts[0]))} ${data.classes[0]} called ${data.classes[1]}, ${count(missed)} of ` +
      `${count(total(counts[1]))} ${data.classes[1]} called ${data.classes[0]}, ${unsure}, ${cost}.`;
  }

  function fillMatrix({ counts }) {
    counts.forEach((row, truth) => row.forEach((n, said) => {
      const share = n / (operating.sum(row) || 1);
      const cell = element(`count-${truth}-${said}`);
      cell.querySelector(".count").textContent = count(n);
      cell.querySelector(".share").textContent = percent(share);
      cell.style.setProperty("--share", `${(share * 100).toFixed(1)}%`);
    }));
  }

  function fillRates({ rates, costPerMessage }) {
    for (const cell of document.querySelectorAll("[data-rate]")) {
      cell.textContent = cell.dataset.rate === "costPerMessage" ? amount(costPerMessage) : percent(rates[cell.dataset.rate]);
    }
  }

  // What a plot shows, in words, for those who cannot see it.
  function gist(kind, { run, rates, names, about, counts, costCurve, costPerMessage, windows }) {
    const curve = run.curves[about];
    const here = `at the chosen point ${percent(rates.recall)} of ${names.plainAbout} is caught`;
    return {
      roc: () => `ROC curve of ${run.model}, area ${curve.auc.estimate.toFixed(5)}; ${here} and ${percent(rates.falsePositiveRate)} of ` +
        `${names.plainOthers} is called ${names.plainAbout}`,
      "precision-recall": () => `Precision-recall curve of ${run.model}; ${here} with precision ${percent(rates.precision)}`,
      cost: () => `Cost per message over the threshold; lowest ${amount(costCurve.cheapest.cost)} at ` +
        `${thresholdWords(costCurve.cheapest.threshold)}; chosen ${amount(costPerMessage)}`,
      histogram: () => `Histogram of log-odds: ${count(operating.sum(counts[about]))} ${names.plainAbout} and ` +
        `${count(run.truth.length - operating.sum(counts[about]))} ${names.plainOthers}`,
      reliability: () => `Reliability diagram of ${run.model}, calibration error ${percent(curve.calibration_error.estimate)}`,
      drift: () => `Errors and share of ${names.plainAbout} in ${windows.length} windows of the order of messages`,
    }[kind]();
  }

  const figures = { roc: plots.roc, "precision-recall": plots.precisionRecall, cost: plots.cost, histogram: plots.histogram,
    reliability: plots.reliability, drift: plots.drift };
  const settings = { responsive: true, displayModeBar: false, showTips: false };

  let frame = 0;
  const still = new Set(["reliability"]); // moves with the model alone

  function draw(everything = false) {
    cancelAnimationFrame(frame);
    const shown = view();
    const colours = plots.colours();
    for (const [kind, figure] of Object.entries(figures)) {
      const box = element(`plot-${kind}`);
      if (!box || (still.has(kind) && !everything)) continue;
      const { data: traces, layout } = figure(colours, shown);
      Plotly.react(box, traces, layout, settings);
      box.setAttribute("aria-label", gist(kind, shown));
    }
    fillMatrix(shown);
    fillRates(shown);
    element("sentence").textContent = sentence(shown);
    announce(element("sentence").textContent);
  }

  function drawLearning() {
    data.learning_curves.forEach((curve, i) => {
      const { data: traces, layout } = plots.learning(plots.colours(), curve);
      const box = element(`plot-learning-${i}`);
      Plotly.react(box, traces, layout, settings);
      box.setAttribute("aria-label", `Learning curve of ${curve.model}: ${curve.words}`);
    });
  }

  // One sentence once the slider rests, not one for each step.
  let waiting = 0;
  function announce(words) {
    clearTimeout(waiting);
    waiting = setTimeout(() => (element("spoken").textContent = words), 600);
  }

  function redraw() {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => draw());
  }

  function redrawAll() {
    draw(true);
    drawLearning();
  }

  const controls = two ? sliders(state, data, { element, thresholdWords, amount, reach: reach[1], redraw, runs })
    : costTable(state, data, { element, redraw });

  function choose(run) {
    state.chosen = run;
    for (const part of document.querySelectorAll("[data-run]")) part.hidden = part.dataset.run !== String(run);
    draw(true);
  }

  element("run")?.addEventListener("change", (event) => choose(Number(event.target.value)));
  element("about")?.addEventListener("change", (event) => {
    state.about = Number(event.target.value);
    draw(true);
  });
  element("logarithmic").addEventListener("change", (event) => {
    state.logarithmic = event.target.checked;
    redraw();
  });
  controls.show();
  redrawAll();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.print = "";
    redrawAll();
  });
  addEventListener("afterprint", () => {
    delete document.documentElement.dataset.print;
    redrawAll();
  });
  if (two) {
    for (const kind of ["roc", "precision-recall"]) {
      element(`plot-${kind}`).on("plotly_click", ({ points: [{ customdata }] }) => {
        if (Number.isFinite(customdata)) controls.moveTo(customdata - 1e-9); // a curve's threshold is said to be it
      });
    }
  }
  return { state, runs, view };
})();
