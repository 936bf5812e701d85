// The pictures of an estimate: where the time goes, and the roofline.
import { $, duration, html, plot, quantity, svg, ticks } from "/dom.js";

// Parts of the GPU's time by name: style and what it means.
const PARTS = {
  "start-up": ["startup", "once: context, libraries, first compilation"],
  copies: ["copies", "data over the bus"],
  compute: ["compute", "arithmetic"],
  memory: ["memory", "reading and writing the GPU's own memory"],
  launches: ["launches", "starting kernels"],
  "compute beside copies": ["compute", "whichever takes longer"],
};

// The parts of the GPU's time that add up to it. Memory traffic and arithmetic overlap, so the longer one counts;
// copies that run beside them are shown together with them.
export function stack(e) {
  const part = Object.fromEntries(e.parts);
  const work = (part.memory ?? 0) > (part.compute ?? 0) ? "memory" : "compute";
  const rows = [["start-up", part["start-up"]], ["copies", part.copies], [work, part[work]], ["launches", part.launches]]
    .filter(([, seconds]) => seconds > 0);
  const sum = rows.reduce((all, [, seconds]) => all + seconds, 0);
  if (sum <= e.gpu_seconds * 1.001) return rows;
  const kept = rows.filter(([name]) => name === "start-up" || name === "launches");
  const rest = e.gpu_seconds - kept.reduce((all, [, seconds]) => all + seconds, 0);
  return [...kept, ["compute beside copies", Math.max(rest, 0)]];
}

// Two bars on one linear scale, and below them the GPU's own bar over the whole width, in parts, joined to the short one
// by two lines. So a GPU that is 500 times faster still shows what its time is spent on.
export function bars(e) {
  const longest = Math.max(e.cpu_seconds, e.gpu_seconds, Number.MIN_VALUE);
  const nodes = [];
  for (const [kind, name, seconds, words] of [["cpu", `CPU: ${e.cpu}`, e.cpu_seconds, e.words[0]], ["gpu", `GPU: ${e.gpu}`, e.gpu_seconds, e.words[1]]]) {
    const [head, bar] = [html("div", name, "bar-head"), html("div", "", `bar-whole ${kind}`)];
    head.append(html("b", words));
    bar.style.width = `${(seconds / longest) * 100}%`;
    nodes.push(head, bar);
  }
  const end = (e.gpu_seconds / longest) * 100;
  const join = svg("svg", { class: "join", "aria-hidden": "true", viewBox: "0 0 100 30", preserveAspectRatio: "none" });
  join.append(svg("path", { d: `M0 0L0 30L100 30L${end} 0Z` }));
  const parts = html("div", "", "bar-parts");
  for (const [name, seconds] of stack(e)) {
    const part = html("div", "", PARTS[name][0]);
    part.style.width = `${(seconds / e.gpu_seconds) * 100}%`;
    part.title = `${name}: ${duration(seconds)}`;
    parts.append(part);
  }
  const axis = html("div", "", "bar-axis");
  for (const at of ticks(0, e.gpu_seconds, $("bars").clientWidth < 480 ? 3 : 8)) {
    const place = (at / e.gpu_seconds) * 100;
    const label = html("span", at ? duration(at, 2) : "0", place < 3 ? "start" : place > 94 ? "end" : "middle");
    label.style.left = `${place}%`;
    axis.append(label);
  }
  $("bars").setAttribute("aria-label", barsWords(e));
  $("bars").replaceChildren(...nodes, join, parts, axis);
  const times = longest / e.gpu_seconds;
  const magnified = times > 1.5 ? `, drawn ${times < 10 ? times.toPrecision(2) : Math.round(times)} times longer` : "";
  $("parts-caption").textContent = `The GPU's ${e.words[1]} in parts${magnified}`;
  $("parts").replaceChildren(...stack(e).map(([name, seconds]) => {
    const [kind, meaning] = PARTS[name];
    const row = html("tr");
    const head = html("th");
    head.scope = "row";
    head.append(html("span", "", `swatch ${kind}`), name, html("span", ` ${meaning}`, "meaning"));
    row.append(head, html("td", duration(seconds), "number"), html("td", percent(seconds / e.gpu_seconds), "number"));
    return row;
  }));
}

const percent = (part) => (part < 0.001 ? "< 0.1 %" : part < 0.1 ? `${(part * 100).toFixed(1)} %` : `${Math.round(part * 100)} %`);

function barsWords(e) {
  const parts = stack(e).map(([name, seconds]) => `${name} ${duration(seconds)}`).join(", ");
  return `${e.cpu} takes ${e.words[0]}, ${e.gpu} takes ${e.words[1]}: ${parts}.`;
}

// Logarithmic axes: operations per byte from 1/64 to at least 65,536, and operations per second.
export function roofline(e) {
  const { cpu, gpu, intensity } = e.roofline;
  const from = Math.min(1 / 64, (intensity ?? 1) / 4);
  const to = Math.max(65536, (intensity ?? 1) * 4);
  const reach = ([flops, bandwidth], at) => Math.min(flops, bandwidth * at);
  const low = Math.min(reach(cpu, from), reach(gpu, from)) / 1.5;
  const high = Math.max(cpu[0], gpu[0]) * 2;
  const box = $("roofline");
  const wide = box.clientWidth > 560;
  plot(box, {
    words: rooflineWords(e), height: 330, margins: [26, wide ? 128 : 96, 52, 52],
    draw: ({ left, right, top, bottom }) => {
      const [nodes, labels] = [[], []];
      const x = (at) => left + (Math.log(at / from) / Math.log(to / from)) * (right - left);
      const y = (value) => bottom - (Math.log(value / low) / Math.log(high / low)) * (bottom - top);
      for (const power of powers(low, high, 8)) {
        nodes.push(svg("line", { class: "axis", x1: left, x2: right, y1: y(power), y2: y(power) }));
        labels.push([left - 8, y(power), quantity(power, "", 1).trim(), "end"]);
      }
      for (const power of powers(from, to, (right - left) / 60)) {
        nodes.push(svg("line", { class: "axis", x1: x(power), x2: x(power), y1: top, y2: bottom }));
        labels.push([x(power), bottom + 14, plain(power)]);
      }
      labels.push([(left + right) / 2, bottom + 38, "arithmetic intensity in FLOP per byte"], [0, 8, "FLOP/s", "start"]);
      // The names stand beside the ends of the curves, at least a name's height apart.
      const heights = [y(cpu[0]), y(gpu[0])];
      const [upper, lower] = heights[0] < heights[1] ? [0, 1] : [1, 0];
      heights[lower] = Math.max(heights[lower], heights[upper] + 44);
      for (const [at, kind, name, rates] of [[0, "cpu", e.cpu, cpu], [1, "gpu", e.gpu, gpu]]) {
        const ridge = Math.min(Math.max(rates[0] / rates[1], from), to);
        const corners = [from, ridge, to].map((place) => `${x(place)} ${y(reach(rates, place))}`);
        nodes.push(svg("path", { class: `roof ${kind}`, d: `M${corners.join("L")}` }));
        if (intensity) nodes.push(svg("circle", { class: kind, cx: x(intensity), cy: y(reach(rates, intensity)), r: 6 }));
        labels.push([right + 10, heights[at], `${wide ? name : kind.toUpperCase()}\n${quantity(rates[0], "FLOP/s")}\n${quantity(rates[1], "B/s")}`, "start", `of-${kind}`]);
      }
      if (intensity) {
        nodes.push(svg("line", { class: "task", x1: x(intensity), x2: x(intensity), y1: top, y2: bottom }));
        const place = Math.min(Math.max(x(intensity), left + 110), right - 60);
        labels.push([place, 8, `this task: ${Number(intensity.toPrecision(3)).toLocaleString("en")}`, "middle", "strong"]);
      }
      return { nodes, labels };
    },
  });
}

// Powers of ten between two numbers, at most `most` of them, evenly.
function powers(low, high, most) {
  const [first, last] = [Math.ceil(Math.log10(low)), Math.floor(Math.log10(high))];
  const step = Math.max(1, Math.ceil((last - first + 1) / Math.max(most, 1)));
  const all = [];
  for (let power = first; power <= last; power++) if (power % step === 0) all.push(10 ** power);
  return all;
}

const plain = (power) => (power < 1 ? String(Number(power.toPrecision(1))) : power < 1e6 ? power.toLocaleString("en") : quantity(power, "", 1).trim());

function rooflineWords(e) {
  const { cpu, gpu, intensity } = e.roofline;
  const words = ([flops, bandwidth]) => `${quantity(flops, "FLOP/s")} and ${quantity(bandwidth, "B/s")}`;
  const task = intensity ? ` This task does ${intensity.toPrecision(3)} operations a byte.` : "";
  return `Roofline: the CPU reaches ${words(cpu)}, the GPU ${words(gpu)}.${task}`;
}
