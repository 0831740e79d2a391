// What a model would have said at other thresholds and costs: the formulas of priory.lab.measures once more, so that
// the page can answer while a slider moves. A test proves both equal.
"use strict";

const operating = (() => {
  const bytes = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const probability = (logOdds) => 1 / (1 + Math.exp(-logOdds));

  // Little-endian numbers of eight bytes; [message] log-odds for two classes, [message, class] logarithms for more.
  function numbers(base64) {
    const view = new DataView(bytes(base64).buffer);
    return Float64Array.from({ length: view.byteLength / 8 }, (_, i) => view.getFloat64(8 * i, true));
  }

  // log Σ exp, of what may be -Infinity throughout.
  function logSum(values) {
    const most = Math.max(...values);
    return Number.isFinite(most) ? most + Math.log(values.reduce((sum, v) => sum + Math.exp(v - most), 0)) : most;
  }

  // A run as it is worked with: log-odds about each class in the order of messages, and sorted by truth.
  function unpack(packed, nClasses) {
    const truth = bytes(packed.truth);
    const scores = numbers(packed.scores);
    const about = {};
    if (nClasses === 2) {
      about[1] = scores;
    } else {
      for (let c = 0; c < nClasses; c++) {
        about[c] = Float64Array.from(truth, (_, i) => {
          const row = Array.from(scores.subarray(i * nClasses, (i + 1) * nClasses));
          return row[c] - logSum(row.filter((_, other) => other !== c));
        });
      }
    }
    const sorted = {};
    for (const c of Object.keys(about)) {
      sorted[c] = [false, true].map((member) => about[c].filter((_, i) => (truth[i] === +c) === member).sort());
    }
    return { ...packed, truth, scores, about, sorted, levels: nClasses === 2 ? levels(sorted[1]) : null };
  }

  // How many of ascending values lie above a threshold, or at it or above.
  function above(sorted, threshold, orAt = false) {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (orAt ? sorted[middle] >= threshold : sorted[middle] > threshold) high = middle;
      else low = middle + 1;
    }
    return sorted.length - low;
  }

  // Two classes: the log-odds from which "unsure", and beyond which the second class is the cheapest thing to say.
  function thresholds({ matrix, unsure }) {
    const [lost, missed] = [matrix[1][0], matrix[0][1]];
    const price = unsure ?? Infinity;
    if (price / missed < 1 - price / lost) {
      return { unsure: Math.log(price / (missed - price)), sure: Math.log((lost - price) / price) };
    }
    const both = Math.log(lost / missed);
    return { unsure: both, sure: both };
  }

  // counts[true][said], the last column is "unsure".
  function confusionAt(run, at) {
    return run.sorted[1].map((sorted) => {
      const second = above(sorted, at.sure);
      const unsure = at.unsure < at.sure ? above(sorted, at.unsure, true) - second : 0;
      return [sorted.length - second - unsure, second, unsure];
    });
  }

  // The cheapest thing to say about each message; of equals "unsure", then the class that is named first.
  function saidBy(run, costs, nClasses) {
    if (nClasses === 2) {
      const at = costs.at ?? thresholds(costs);
      const zone = at.unsure < at.sure;
      return Uint8Array.from(run.scores, (l) => (l > at.sure ? 1 : zone && l >= at.unsure ? 2 : 0));
    }
    return Uint8Array.from(run.truth, (_, i) => {
      const row = Array.from(run.scores.subarray(i * nClasses, (i + 1) * nClasses), Math.exp);
      const expected = costs.matrix.map((of) => of.reduce((sum, cost, c) => sum + cost * row[c], 0));
      const least = Math.min(...expected);
      return (costs.unsure ?? Infinity) <= least ? nClasses : expected.indexOf(least);
    });
  }

  function confusionOf(run, said, nClasses) {
    const counts = Array.from({ length: nClasses }, () => new Array(nClasses + 1).fill(0));
    run.truth.forEach((truth, i) => (counts[truth][said[i]] += 1));
    return counts;
  }

  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const ratio = (part, whole) => (whole ? part / whole : NaN);

  // Shares about one class, from counts[true][said].
  function rates(counts, about) {
    const others = counts.filter((_, c) => c !== about);
    const total = sum(counts.map(sum));
    const truePositive = counts[about][about];
    const falsePositive = sum(others.map((row) => row[about]));
    return {
      falsePositiveRate: ratio(falsePositive, sum(others.map(sum))),
      falseNegativeRate: ratio(sum(counts[about].slice(0, -1)) - truePositive, sum(counts[about])),
      precision: ratio(truePositive, truePositive + falsePositive),
      recall: ratio(truePositive, sum(counts[about])),
      jaccard: ratio(truePositive, sum(counts[about]) + falsePositive),
      accuracy: ratio(sum(counts.map((row, c) => row[c])), total),
      unsure: ratio(sum(counts.map((row) => row[row.length - 1])), total),
    };
  }

  function costPerMessage(counts, { matrix, unsure }) {
    const last = counts.length;
    const spent = counts.map((row, truth) =>
      sum(row.map((n, said) => (n ? n * (said === last ? unsure ?? Infinity : matrix[said][truth]) : 0))));
    return ratio(sum(spent), sum(counts.map(sum)));
  }

  // Two classes: every threshold that makes a difference, with how many are lost above it and missed at or below.
  function levels([firsts, seconds]) {
    const at = Float64Array.from(new Set([-Infinity, ...firsts, ...seconds])).sort();
    return { at, lost: at.map((t) => above(firsts, t)), missed: at.map((t) => seconds.length - above(seconds, t)) };
  }

  // The cost per message if the second class is said above a log-odds and the first at or below, over every threshold.
  function costCurve(run, { matrix }) {
    const { at, lost, missed } = run.levels;
    const costs = at.map((_, i) => (lost[i] * matrix[1][0] + missed[i] * matrix[0][1]) / run.truth.length);
    return { thresholds: at, costs, cheapest: cheapest(at, costs) };
  }

  // The middle, in probability, of the widest range of thresholds that costs least.
  function cheapest(at, costs) {
    const least = costs.reduce((lowest, cost) => Math.min(lowest, cost));
    let best = { width: -1 };
    for (let begin = 0; begin < at.length; begin++) {
      if (costs[begin] > least * (1 + 1e-12)) continue;
      let end = begin + 1;
      while (end < at.length && costs[end] <= least * (1 + 1e-12)) end++;
      const [low, high] = [probability(at[begin]), end < at.length ? probability(at[end]) : 1];
      if (high - low > best.width) {
        const middle = (low + high) / 2;
        const inside = middle > low && middle < high;
        best = { width: high - low, cost: least, threshold: inside ? Math.log(middle / (1 - middle)) : at[begin] };
      }
      begin = end - 1;
    }
    return best;
  }

  // What happened in each window of the order of messages.
  function drift(run, said, about, nClasses) {
    return run.windows.slice(0, -1).map((begin, w) => {
      const end = run.windows[w + 1];
      const counts = confusionOf(
        { truth: run.truth.subarray(begin, end) }, said.subarray(begin, end), nClasses);
      const mean = ratio(sum(Array.from(run.about[about].subarray(begin, end), probability)), end - begin);
      return { begin, end, counts, share: ratio(sum(counts[about]), end - begin), meanProbability: mean };
    });
  }

  return { above, confusionAt, confusionOf, costCurve, costPerMessage, drift, probability, rates, saidBy, sum, thresholds,
           unpack };
})();
