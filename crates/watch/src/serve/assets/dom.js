// What all sections share: nodes, numbers with units, colors of the style sheet.
export const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

// Creates a node of HTML.
export function html(name, text = "", kind = "") {
  const node = document.createElement(name);
  node.textContent = text;
  if (kind) node.className = kind;
  return node;
}

// Creates a node of SVG.
export function svg(name, attributes = {}, text = "") {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.textContent = text;
  return node;
}

// Lays out a plot in a box: a picture between the margins, and labels of HTML around it, so that their text is as large as
// the page's, can be selected and has a background of its own. `nodes` are in pixels of the box, as are the places of
// labels: [x, y, text, anchor, kind], with y the middle of the line.
export function plot(box, { words, height, margins: [top, right, bottom, left], draw }) {
  const width = Math.max(box.clientWidth, 200);
  const area = { left, top, right: width - right, bottom: height - bottom };
  const { nodes, labels } = draw(area, width);
  const [w, h] = [area.right - area.left, area.bottom - area.top];
  const picture = svg("svg", { viewBox: `${left} ${top} ${w} ${h}`, role: "img", "aria-label": words });
  Object.assign(picture.style, { left: left + "px", top: top + "px", width: w + "px", height: h + "px" });
  picture.append(...nodes);
  box.style.height = height + "px";
  box.replaceChildren(picture, ...labels.map(([x, y, text, anchor = "middle", kind = ""]) => {
    const node = html("span", text, `${anchor} ${kind}`.trim());
    Object.assign(node.style, { left: x + "px", top: y + "px" });
    return node;
  }));
}

// Calls `draw` when the width of a node or the color scheme changes.
export function onResize(node, draw) {
  let width = node.clientWidth;
  new ResizeObserver(() => {
    if (node.clientWidth === width) return;
    width = node.clientWidth;
    draw();
  }).observe(node);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function scaled(value, steps, digits) {
  const [factor, unit] = steps.find(([factor]) => value >= factor * 0.9995) ?? steps[steps.length - 1];
  const short = value / factor;
  const text = short >= 10 ** (digits - 1) ? short.toFixed(0) : short.toPrecision(digits);
  return `${text} ${unit}`;
}

// Formats seconds to three digits.
export function duration(seconds, digits = 3) {
  if (!seconds) return "0 s";
  if (seconds >= 3600) return `${(seconds / 3600).toPrecision(digits)} h`;
  return scaled(seconds, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]], digits);
}

// Formats a number with a decimal prefix of its unit: bytes of a file, operations a second.
export function quantity(value, unit, digits = 3) {
  if (!value) return `0 ${unit}`;
  return scaled(value, [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]].map(([n, p]) => [n, p + unit]), digits);
}

// Formats bytes of memory, in the binary units of `cuprous top`.
export function memory(value) {
  let unit = 0;
  while (value >= 1000 && unit < 4) [value, unit] = [value / 1024, unit + 1];
  return `${unit && value < 100 ? value.toPrecision(3) : Math.round(value)} ${["B", "KiB", "MiB", "GiB", "TiB"][unit]}`;
}

// Round numbers that divide a range into at most `most` parts: 1, 2 or 5 times a power of ten.
export function ticks(from, to, most) {
  const raw = (to - from) / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw * 0.999);
  const all = [];
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to + step * 1e-9; k++) all.push(k * step);
  return all;
}
