// The pictures of an estimate: where the time goes, and the roofline.
import { $, duration, html, quantity, resize, svg, ticks } from "/dom.js";

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
  const picture = $("bars");
  const [top, height, gap] = [22, 26, 28];
  const width = resize(picture, 262);
  const longest = Math.max(e.cpu_seconds, e.gpu_seconds, Number.MIN_VALUE);
  const right = width - 8;
  const wide = (seconds) => Math.max((seconds / longest) * right, 2);
  const rows = [["cpu", `CPU: ${e.cpu}`, e.cpu_seconds, e.words[0]], ["compute", `GPU: ${e.gpu}`, e.gpu_seconds, e.words[1]]];
  const nodes = [svg("title", { id: "bars-title" }, barsWords(e))];
  rows.forEach(([kind, name, seconds, words], at) => {
    const y = top + at * (height + gap);
    nodes.push(svg("text", { x: 0, y: y - 6 }, name));
    nodes.push(svg("text", { class: "value", x: right, y: y - 6, "text-anchor": "end" }, words));
    nodes.push(svg("rect", { class: kind, x: 0, y, height, width: wide(seconds), rx: 2 }));
  });
  const [from, to] = [top + 2 * height + gap, top + 2 * height + gap + 40];
  const end = wide(e.gpu_seconds);
  nodes.push(svg("path", { class: "join", d: `M0 ${from}L0 ${to}L${right} ${to}L${end} ${from}Z` }));
  const times = right / end;
  const words = times > 1.5 ? `GPU time magnified ${times < 10 ? times.toPrecision(2) : Math.round(times)} times` : "GPU time in parts";
  nodes.push(svg("text", { class: "soft", x: right / 2, y: to - 8, "text-anchor": "middle" }, words));
  let x = 0;
  for (const [name, seconds] of stack(e)) {
    const length = (seconds / e.gpu_seconds) * right;
    const rect = svg("rect", { class: PARTS[name][0], x, y: to, height, width: Math.max(length, 1) });
    rect.append(svg("title", {}, `${name}: ${duration(seconds)}`));
    nodes.push(rect);
    x += length;
  }
  const base = to + height;
  for (const at of ticks(0, e.gpu_seconds, width < 480 ? 4 : 8)) {
    const place = (at / e.gpu_seconds) * right;
    const anchor = place < 20 ? "start" : place > right - 24 ? "end" : "middle";
    nodes.push(svg("line", { class: "tick", x1: place, x2: place, y1: base, y2: base + 5 }));
    nodes.push(svg("text", { class: "soft", x: place, y: base + 20, "text-anchor": anchor }, at ? duration(at, 2) : "0"));
  }
  picture.setAttribute("viewBox", `0 0 ${width} ${base + 26}`);
  picture.setAttribute("height", base + 26);
  picture.replaceChildren(...nodes);
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
  const picture = $("roofline");
  const [top, bottom, height] = [16, 264, 312];
  const width = resize(picture, height);
  const [left, right] = [64, width - 12];
  const { cpu, gpu, intensity } = e.roofline;
  const from = Math.min(1 / 64, (intensity ?? 1) / 4);
  const to = Math.max(65536, (intensity ?? 1) * 4);
  const reach = ([flops, bandwidth], at) => Math.min(flops, bandwidth * at);
  const low = Math.min(reach(cpu, from), reach(gpu, from)) / 1.5;
  const high = Math.max(cpu[0], gpu[0]) * 4;
  const x = (at) => left + (Math.log(at / from) / Math.log(to / from)) * (right - left);
  const y = (value) => bottom - (Math.log(value / low) / Math.log(high / low)) * (bottom - top);
  const nodes = [svg("title", { id: "roofline-title" }, rooflineWords(e))];
  for (const power of powers(low, high, 8)) {
    nodes.push(svg("line", { class: "axis", x1: left, x2: right, y1: y(power), y2: y(power) }));
    nodes.push(svg("text", { class: "soft", x: left - 8, y: y(power) + 5, "text-anchor": "end" }, quantity(power, "", 1).trim()));
  }
  for (const power of powers(from, to, (right - left) / 64)) {
    nodes.push(svg("line", { class: "axis", x1: x(power), x2: x(power), y1: top, y2: bottom }));
    nodes.push(svg("text", { class: "soft", x: x(power), y: bottom + 20, "text-anchor": "middle" }, plain(power)));
  }
  nodes.push(svg("text", { class: "soft", x: (left + right) / 2, y: height - 6, "text-anchor": "middle" }, "arithmetic intensity (FLOP per byte)"));
  const side = { x: 14, y: (top + bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${(top + bottom) / 2})` };
  nodes.push(svg("text", { class: "soft", ...side }, "throughput (FLOP/s)"));
  const labels = [];
  for (const [kind, name, rates] of [["cpu", e.cpu, cpu], ["gpu", e.gpu, gpu]]) {
    const ridge = Math.min(Math.max(rates[0] / rates[1], from), to);
    const corners = [from, ridge, to].map((at) => `${x(at)} ${y(reach(rates, at))}`);
    nodes.push(svg("path", { class: `roof ${kind}`, d: `M${corners.join("L")}` }));
    labels.push(svg("text", { class: "outlined", x: right - 4, y: y(rates[0]) - 8, "text-anchor": "end" },
      `${short(name, width)}: ${quantity(rates[0], "FLOP/s")}, ${quantity(rates[1], "B/s")}`));
    if (intensity) nodes.push(svg("circle", { class: kind, cx: x(intensity), cy: y(reach(rates, intensity)), r: 6 }));
  }
  if (intensity) {
    nodes.push(svg("line", { class: "task", x1: x(intensity), x2: x(intensity), y1: top, y2: bottom }));
    const before = x(intensity) > (left + right) / 2;
    const words = `this task: ${quantity(intensity, "", 3).trim()} FLOP per byte`;
    labels.push(svg("text", { class: "outlined", x: x(intensity) + (before ? -8 : 8), y: bottom - 8, "text-anchor": before ? "end" : "start" }, words));
  }
  picture.replaceChildren(...nodes, ...labels);
}

const short = (name, width) => (width < 480 ? name.split(" ").slice(-2).join(" ") : name);

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
