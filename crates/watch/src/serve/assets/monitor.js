// The monitor. While it is visible, it requests the newest sample once a second.
import { $, html, memory, plot, svg } from "/dom.js";
import { fill } from "/tables.js";

const or = (value, words, otherwise = "unknown") => (value === null || value === undefined ? otherwise : words(value));
const column = (name, value, words) => ({ name, value, number: true, show: (p) => or(value(p), words, "–") });
const COLUMNS = [
  { name: "Command", value: (p) => p.name, kind: "command", show: (p) => (p.rank ? `rank ${p.rank[0]} of ${p.rank[1]}: ${p.name}` : p.name) },
  column("PID", (p) => p.pid, String),
  column("GPU", (p) => p.gpu ?? -1, (n) => (n < 0 ? "CPU" : String(n))),
  column("Memory", (p) => p.memory, memory),
  column("Allocated", (p) => p.own?.allocated, memory),
  column("Reserved", (p) => p.own?.reserved, memory),
  column("GPU %", (p) => p.utilization, String),
  column("CPU %", (p) => p.cpu, (n) => n.toFixed(0)),
  column("Host memory", (p) => p.host_memory, memory),
];
const HEIGHT = 132;
let [last, span] = [null, 60];

// A curve with its axes: values from 0 to `most` over the chosen span, newest at the right. The server's series are
// percentages of `most`.
function graph(name, series, most, unit, words) {
  const [box, title, area] = [html("figure", "", "graph"), html("figcaption"), html("div", "", "plot")];
  title.append(html("span", name), html("b", words));
  box.append(title, area);
  box.draw = () => plot(area, {
    words: `${name}: ${words}, over ${span / 60} min`, height: HEIGHT, margins: [10, 8, 24, 66],
    draw: ({ left, right, top, bottom }) => {
      const y = (value) => bottom - (Math.min(value, 100) / 100) * (bottom - top);
      const x = (ago) => right - (ago / span) * (right - left);
      const [nodes, labels] = [[], []];
      for (const part of [0, 50, 100]) {
        nodes.push(svg("line", { class: "axis", x1: left, x2: right, y1: y(part), y2: y(part) }));
        labels.push([left - 8, y(part), or(most, (n) => unit((n * part) / 100), ""), "end"]);
      }
      for (const ago of [span, span / 2, 0]) {
        const time = ago ? (ago >= 60 ? `${ago / 60} min ago` : `${ago} s ago`) : "now";
        labels.push([x(ago), HEIGHT - 10, time, ago === span ? "start" : ago ? "middle" : "end"]);
      }
      const shown = series.slice(-span - 1);
      if (shown.length) {
        const points = shown.map((value, at) => `${x(shown.length - 1 - at).toFixed(1)} ${y(value).toFixed(1)}`);
        const [from, to] = [x(shown.length - 1), x(0)];
        nodes.push(svg("path", { class: "area", d: `M${from} ${bottom}L${points.join("L")}L${to} ${bottom}Z` }));
        nodes.push(svg("path", { class: "curve", d: `M${points.join("L")}` }));
      }
      return { nodes, labels };
    },
  });
  return box;
}

function list(rows) {
  const dl = document.createElement("dl");
  for (const [term, value, kind] of rows) dl.append(html("dt", term), html("dd", value, kind));
  return dl;
}

function card(title, graphs, rows) {
  const box = html("div", "", "card");
  const all = html("div", "", "graphs");
  all.append(...graphs);
  box.append(html("h3", title), all, list(rows));
  return box;
}

const percent = (n) => `${Math.round(n)} %`;
const watts = (n) => `${Math.round(n)} W`;
const degrees = (n) => `${Math.round(n)} °C`;

function gpuCard(gpu, series = [[], [], [], []]) {
  const { pcie } = gpu;
  const rate = (value) => or(value, (n) => memory(n) + "/s");
  const readings = [
    ["Utilization", gpu.utilization, 100, percent, percent],
    ["Memory", gpu.memory_used, gpu.memory_total, memory, (n) => `${memory(n)} of ${or(gpu.memory_total, memory)}`],
    ["Power", gpu.power, gpu.power_limit, watts, (w) => `${w.toFixed(0)} of ${or(gpu.power_limit, watts)}`],
    ["Temperature", gpu.temperature, 100, degrees, degrees],
  ].map((reading, at) => [...reading, series[at]]);
  const known = ([, value, , , , curve]) => value !== null || curve.some((n) => n > 0);
  const graphs = readings.filter(known).map(([name, value, most, unit, words, curve]) => graph(name, curve, most, unit, or(value, words)));
  const missing = readings.filter((reading) => !known(reading)).map(([name]) => name.toLowerCase());
  const held = gpu.throttled_by.length > 0;
  const rows = [
    ["Clock", or(gpu.clock, (n) => `${n} of ${or(gpu.clock_limit, String)} MHz`)],
    ["Clock held back by", held ? gpu.throttled_by.join(", ") : "nothing", held ? "hot" : ""],
    ["PCIe", or(pcie.generation, (n) => `${n}.0 x${or(pcie.width, String)} of ${or(pcie.generation_limit, String)}.0 x${or(pcie.width_limit, String)}, out ${rate(pcie.sent)}, in ${rate(pcie.received)}`)],
  ];
  if (gpu.nvlink.length) {
    const up = gpu.nvlink.filter((link) => link.active).length;
    const rates = gpu.nvlink_rates ? `, out ${rate(gpu.nvlink_rates[0])}, in ${rate(gpu.nvlink_rates[1])}` : "";
    rows.push(["NVLink", `${up} of ${gpu.nvlink.length} up${rates}`]);
  }
  if (missing.length) rows.push(["Not reported", missing.join(", ")]);
  return card(`GPU ${gpu.index}: ${gpu.name}`, graphs, rows);
}

function hostCard({ sample, host: series }) {
  const { host } = sample;
  const cores = `${host.cores} ${host.cores === 1 ? "core" : "cores"}`;
  const load = or(host.load, ([one, five, fifteen]) =>
    `${one.toFixed(2)} over 1 min, ${five.toFixed(2)} over 5 min, ${fifteen.toFixed(2)} over 15 min: processes that run or wait to (${host.cores} keep all cores busy)`);
  const graphs = [
    graph("CPU", series[0], 100, percent, or(host.utilization, percent)),
    graph("Memory", series[1], host.memory_total, memory, `${memory(host.memory_used)} of ${memory(host.memory_total)}`),
  ];
  const driver = sample.driver ? [["NVIDIA driver", sample.driver]] : [];
  return card(`${host.name}: ${host.cpu}, ${cores}`, graphs, [["Load", load], ...driver]);
}

function show(seen) {
  last = seen;
  $("host").replaceChildren(hostCard(seen));
  const cards = seen.sample.gpus.map((gpu) => gpuCard(gpu, seen.gpus[gpu.index]));
  $("gpu-cards").replaceChildren(...(cards.length ? cards : [html("p", seen.sample.no_gpu ?? "", "card")]));
  for (const box of document.querySelectorAll("#monitor .graph")) box.draw();
  const { processes } = seen.sample;
  $("processes").hidden = !processes.length;
  $("no-processes").hidden = processes.length > 0;
  fill($("processes"), COLUMNS, processes, 3);
}

async function look() {
  if (!$("monitor").hidden && !document.hidden) {
    try {
      const answer = await fetch("/api/sample");
      if (!answer.ok) throw new Error();
      show(await answer.json());
      $("monitor-state").textContent = "";
    } catch {
      $("monitor-state").textContent = "The server does not answer. Is `cuprous serve` still running?";
    }
  }
  setTimeout(look, 1000);
}

export function start() {
  for (const choice of document.querySelectorAll("#monitor [name=span]")) {
    choice.addEventListener("change", () => {
      span = Number(choice.value);
      if (last) show(last);
    });
  }
  addEventListener("resize", () => last && show(last));
  look();
}
