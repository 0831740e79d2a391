// The plots of a report: each function returns what plotly draws, from a run and the operating point.
"use strict";

const plots = (() => {
  const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
  // Where log-odds are marked, by how far they reach: so many that there is room for their names.
  const TICKS = [[100, [0, 1, 3, 10, 30]], [1000, [0, 1, 10, 100]], [Infinity, [0, 1, 100, 10000]]];
  const BINS = 60;

  // Names are texts, but plotly reads tags in them.
  const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

  // The middle of log-odds is where decisions are made, the ends are far away: asinh shows both.
  const stretch = Math.asinh;

  function colours() {
    const style = getComputedStyle(document.documentElement);
    return new Proxy({}, { get: (_, name) => style.getPropertyValue(`--${name}`).trim() });
  }

  function axis(c, title, more = {}) {
    return { title: { text: title, standoff: 8, font: { size: 12, color: c.muted } }, gridcolor: c.grid, linecolor: c.line,
      zeroline: false, showline: true, ticks: "outside", ticklen: 3, tickcolor: c.line, fixedrange: true,
      automargin: true, tickfont: { size: 11, color: c.muted }, ...more };
  }

  function layout(c, x, y, more = {}) {
    return { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: false, hovermode: "closest",
      font: { family: FONT, size: 12, color: c.ink }, margin: { l: 52, r: 24, t: 30, b: 44 }, xaxis: x, yaxis: y,
      hoverlabel: { bgcolor: c.raised, bordercolor: c.line, font: { family: FONT, color: c.ink } },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 11, color: c.muted } }, ...more };
  }

  const marker = (c, open) => ({ size: 12, color: open ? c.raised : c.point, line: { width: 2.5, color: c.point } });

  function pointTraces(c, points) {
    return points.map(({ name, x, y }, i) => ({ x: [x], y: [y], name: escaped(name), mode: "markers", meta: "point",
      marker: marker(c, i > 0), cliponaxis: false, hovertemplate: "%{x:.4%}, %{y:.4%}" }));
  }

  // One curve of every run, the chosen one in front.
  function curves(c, runs, chosen, points, shownX) {
    const line = (run, i) => {
      const curve = points(run);
      return { x: curve.x.map(shownX), y: curve.y, customdata: curve.thresholds, mode: "lines", name: escaped(run.model),
        showlegend: false, line: { width: i === chosen ? 2.5 : 1.2, color: i === chosen ? c.second : c.faint },
        hovertemplate: "%{x:.4%}, %{y:.4%}<extra>" + escaped(run.model) + "</extra>" };
    };
    const order = runs.map((_, i) => i).filter((i) => i !== chosen);
    return [...order, chosen].map((i) => line(runs[i], i));
  }

  function roc(c, view) {
    const { runs, chosen, about, names, operatingPoints, logarithmic } = view;
    const n = view.sorted[0].length;
    const least = 0.5 / Math.max(n, 1);
    const shown = (x) => (logarithmic ? Math.max(x, least) : x);
    const traces = curves(c, runs, chosen, (run) => run.curves[about].roc, shown);
    const points = pointTraces(c, operatingPoints.map((p) => ({ ...p, x: shown(p.falsePositiveRate), y: p.recall })));
    const guess = { x: Array.from({ length: 50 }, (_, i) => least ** (i / 49)), mode: "lines", hoverinfo: "skip", showlegend: false,
      line: { width: 1, dash: "dot", color: c.line } };
    const scale = logarithmic
      ? { type: "log", range: [Math.log10(least), 0.02], tickvals: [1e-5, 1e-4, 1e-3, 0.01, 0.1, 1],
          ticktext: ["0.001 %", "0.01 %", "0.1 %", "1 %", "10 %", "100 %"] }
      : { range: [-0.01, 1.01], tickformat: ".0%" };
    return { data: [{ ...guess, y: guess.x }, ...traces, ...points],
      layout: layout(c, axis(c, `${names.others} called ${names.about}`, scale),
        axis(c, `${names.about} caught`, { range: [-0.02, 1.02], tickformat: ".0%" })) };
  }

  function precisionRecall(c, view) {
    const { runs, chosen, about, names, operatingPoints } = view;
    const traces = curves(c, runs, chosen, (run) => run.curves[about].precision_recall, (x) => x);
    const known = operatingPoints.filter((p) => Number.isFinite(p.precision));
    const points = pointTraces(c, known.map((p) => ({ ...p, x: p.recall, y: p.precision })));
    const found = [...traces, ...points].flatMap(({ x, y }) => y.filter((_, i) => x[i] > 0.05));
    const lowest = found.reduce((low, y) => Math.min(low, y), 0.98);
    return { data: [...traces, ...points],
      layout: layout(c, axis(c, `recall: ${names.about} caught`, { range: [-0.02, 1.02], tickformat: ".0%" }),
        axis(c, "precision", { range: [lowest - 0.05 * (1 - lowest), 1 + 0.04 * (1 - lowest)], tickformat: "~%" })) };
  }

  function stretched(c, title, reach) {
    const [, marks] = TICKS.find(([most]) => reach <= most);
    const ticks = marks.filter((t) => t <= reach).flatMap((t) => (t ? [-t, t] : [0])).sort((a, b) => a - b);
    return axis(c, title, { range: [-stretch(reach), stretch(reach)], tickvals: ticks.map(stretch), tickangle: 0,
      ticktext: ticks.map((t) => String(t).replace("-", "−")) });
  }

  const within = (reach, value) => Math.max(-reach, Math.min(reach, value));

  // Vertical lines at the thresholds.
  function lines(c, reach, at) {
    const values = at.unsure < at.sure ? [at.sure, at.unsure] : [at.sure];
    return values.map((value, i) => ({ type: "line", xref: "x", yref: "paper", y0: 0, y1: 1, name: "threshold",
      x0: stretch(within(reach, value)), x1: stretch(within(reach, value)),
      line: { color: c.point, width: 2, dash: i ? "dot" : "solid" } }));
  }

  // What a plot of this width can show of a long step curve.
  function thinned(xs, ys, pixels) {
    const keep = [];
    let last = [NaN, NaN];
    const highest = ys.reduce((most, y) => Math.max(most, y), 0) || 1;
    xs.forEach((x, i) => {
      const cell = [Math.round((x * pixels) / 20), Math.round((ys[i] * pixels) / highest)];
      if (cell[0] !== last[0] || cell[1] !== last[1] || i === xs.length - 1) keep.push(i);
      last = cell;
    });
    return keep;
  }

  function cost(c, view) {
    const { reach, names, at, costCurve, costPerMessage } = view;
    const xs = Array.from(costCurve.thresholds, (t) => stretch(within(reach, t)));
    const least = costCurve.costs.reduce((low, y) => (y > 0 ? Math.min(low, y) : low), costPerMessage || Infinity);
    const shown = (y) => Math.max(y, least / 2); // nothing has no place on a logarithmic axis
    const ys = Array.from(costCurve.costs, shown);
    const keep = thinned(xs, ys, 600);
    const cheapest = costCurve.cheapest;
    const spot = (name, x, y, more) => ({ x: [stretch(within(reach, x))], y: [shown(y)], customdata: [y], name, mode: "markers",
      cliponaxis: false, hovertemplate: "%{customdata:.4g} per message", ...more });
    return { data: [
      { x: keep.map((i) => xs[i]), y: keep.map((i) => ys[i]), customdata: keep.map((i) => costCurve.costs[i]), mode: "lines", name: "without unsure", showlegend: false,
        line: { shape: "hv", width: 2, color: c.second }, hovertemplate: "%{customdata:.4g} per message<extra></extra>" },
      spot("cheapest here", cheapest.threshold, cheapest.cost, { marker: { symbol: "star", size: 13, color: c.good } }),
      spot("chosen", at.sure, costPerMessage, { meta: "point", marker: marker(c, false) }),
    ], layout: layout(c, stretched(c, `threshold, log-odds of ${names.about}`, reach),
      axis(c, "cost per message", { type: "log", dtick: 1, exponentformat: "none" }), { shapes: lines(c, reach, at) }) };
  }

  function histogram(c, view) {
    const { reach, names, at, sorted } = view;
    const width = (2 * stretch(reach)) / BINS;
    const bars = (values, name, colour) => {
      const counts = new Array(BINS).fill(0);
      values.forEach((l) => {
        const bin = Math.floor((stretch(within(reach, l)) + stretch(reach)) / width);
        counts[Math.min(bin, BINS - 1)] += 1;
      });
      return { type: "bar", name: escaped(name), x: counts.map((_, i) => -stretch(reach) + (i + 0.5) * width), y: counts, width,
        opacity: 0.72, marker: { color: colour }, hovertemplate: "%{y} messages" };
    };
    return { data: [bars(sorted[0], names.plainOthers, c.first), bars(sorted[1], names.plainAbout, c.second)],
      layout: layout(c, stretched(c, `log-odds of ${names.about}`, reach),
        axis(c, "messages", { type: "log", dtick: 1, exponentformat: "none" }),
        { barmode: "overlay", bargap: 0, shapes: at ? lines(c, reach, at) : [] }) };
  }

  function reliability(c, view) {
    const { names, about, run } = view;
    const curve = run.curves[about].reliability;
    const error = { type: "data", symmetric: false, thickness: 1, width: 0, color: c.second,
      array: curve.high.map((high, i) => high - curve.share[i]), arrayminus: curve.low.map((low, i) => curve.share[i] - low) };
    return { data: [
      { x: [0, 1], y: [0, 1], mode: "lines", hoverinfo: "skip", line: { width: 1, dash: "dot", color: c.line } },
      { x: curve.mean_probability, y: curve.share, error_y: error, mode: "markers+lines", customdata: curve.n,
        line: { width: 1.5, color: c.second }, marker: { size: 7, color: c.second },
        hovertemplate: "said %{x:.2%}, was %{y:.2%} of %{customdata}<extra></extra>" },
      { type: "bar", x: curve.mean_probability, y: curve.n, yaxis: "y2", width: 0.03, marker: { color: c.faint },
        hovertemplate: "%{y} messages<extra></extra>" },
    ], layout: layout(c, axis(c, `probability of ${names.about} that was said`, { range: [-0.02, 1.02], tickformat: ".0%", anchor: "y2" }),
      axis(c, `share that is ${names.about}`, { range: [-0.03, 1.03], tickformat: ".0%", domain: [0.3, 1] }),
      { showlegend: false, yaxis2: axis(c, "messages", { type: "log", domain: [0, 0.2], dtick: 1, exponentformat: "none" }) }) };
  }

  function drift(c, view) {
    const { names, windows, about } = view;
    const middle = windows.map(({ begin, end }) => (begin + end) / 2);
    const line = (name, values, colour, more = {}) => ({ x: middle, y: values, name: escaped(name), mode: "lines+markers",
      line: { width: 2, color: colour, ...more.line }, marker: { size: 5, color: colour }, connectgaps: true,
      hovertemplate: "%{y:.2%}", ...more.trace });
    const rates = windows.map(({ counts }) => operating.rates(counts, about));
    const below = { trace: { yaxis: "y2" } };
    return { data: [
      line(`${names.plainOthers} lost`, rates.map((r) => r.falsePositiveRate), c.first, { trace: { meta: "point" } }),
      line(`${names.plainAbout} missed`, rates.map((r) => r.falseNegativeRate), c.second),
      line("share", windows.map((w) => w.share), c.muted, below),
      line("said", windows.map((w) => w.meanProbability), c.point, { ...below, line: { dash: "dot" } }),
    ], layout: layout(c, axis(c, "messages, in their order", { anchor: "y2" }),
      axis(c, "errors", { tickformat: "~%", domain: [0.56, 1], rangemode: "tozero" }),
      { yaxis2: axis(c, "share", { tickformat: ".0%", domain: [0, 0.44], range: [-0.03, 1.03] }) }) };
  }

  function learning(c, { points }) {
    const sizes = points.map((point) => point.n_examples);
    const line = (name, which, colour, dash) => {
      const errors = points.map((point) => point[which]);
      return { x: sizes, y: errors.map((e) => e.estimate), name, mode: "lines+markers", cliponaxis: false,
        error_y: { type: "data", symmetric: false, thickness: 1, width: 0, array: errors.map((e) => e.high - e.estimate),
          arrayminus: errors.map((e) => e.estimate - e.low) },
        line: { width: 2, color: colour, dash }, marker: { size: 6, color: colour }, hovertemplate: "%{x} messages: %{y:.2%}" };
    };
    const scale = { type: "log", tickvals: sizes, ticktext: sizes.map((n) => n.toLocaleString("en")) };
    return { data: [line("E_train", "train", c.first, "dot"), line("E_validation", "validation", c.second)],
      layout: layout(c, axis(c, "messages learned", scale), axis(c, "error", { tickformat: "~%", rangemode: "tozero" })) };
  }

  return { colours, cost, drift, escaped, histogram, learning, precisionRecall, reliability, roc };
})();
