// Moves what the server has drawn on a plot: a point or a rule to other values of its axes.

function place(area, axis, value) {
  let low = Number(area.dataset[`${axis}Low`]);
  let high = Number(area.dataset[`${axis}High`]);
  if (`${axis}Logarithmic` in area.dataset) {
    value = value > 0 ? Math.log(value) : Math.log(low);
    low = Math.log(low);
    high = Math.log(high);
  }
  return Math.min(Math.max((value - low) / (high - low), 0), 1);
}

const percent = (share) => `${100 * share}%`;

export function movePoint(circle, x, y) {
  const area = circle.closest(".area");
  circle.setAttribute("cx", percent(place(area, "x", x)));
  circle.setAttribute("cy", percent(1 - place(area, "y", y)));
}

export function moveRule(line, x) {
  const at = percent(place(line.closest(".area"), "x", x));
  line.setAttribute("x1", at);
  line.setAttribute("x2", at);
}
