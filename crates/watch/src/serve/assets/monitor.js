// The monitor. While it is visible, it requests the newest sample once a second.
import { element } from "/calculator.js";

const $ = (id) => document.getElementById(id);
const COLUMNS = [
  ["PID", (p) => p.pid, String],
  ["GPU", (p) => p.gpu ?? -1, (n) => (n < 0 ? "CPU" : String(n))],
  ["Memory", (p) => p.memory, bytes],
  ["Allocated", (p) => p.own?.allocated, bytes],
  ["Reserved", (p) => p.own?.reserved, bytes],
  ["GPU %", (p) => p.utilization, String],
  ["CPU %", (p) => p.cpu, (n) => n.toFixed(0)],
  ["Host memory", (p) => p.host_memory, bytes],
  ["Command", (p) => (p.rank ? `rank ${p.rank[0]} of ${p.rank[1]}: ${p.name}` : p.name), String],
];
let [sort, rising, last] = [2, false, null];

function bytes(n) {
  let unit = 0;
  while (n >= 1000 && unit < 4) [n, unit] = [n / 1024, unit + 1];
  return `${unit && n < 100 ? n.toPrecision(3) : Math.round(n)} ${["B", "KiB", "MiB", "GiB", "TiB"][unit]}`;
}

const or = (value, words) => (value === null || value === undefined ? "unknown" : words(value));

function made(name, text, kind) {
  const node = document.createElement(name);
  node.textContent = text;
  if (kind) node.className = kind;
  return node;
}

function graph(name, series, words) {
  const box = document.createElement("div");
  const svg = element("svg", { viewBox: "0 0 600 100", preserveAspectRatio: "none", role: "img", "aria-label": `${name}: ${words}` });
  const points = series.map((value, at) => `${600 - series.length + at} ${100 - Math.min(value, 100)}`);
  if (points.length) svg.append(element("path", { class: "gpu", d: "M" + points.join("L") }));
  box.append(made("div", `${name}: ${words}`), svg);
  return box;
}

function list(rows) {
  const dl = document.createElement("dl");
  for (const [term, value, kind] of rows) dl.append(made("dt", term), made("dd", value, kind));
  return dl;
}

function card(title, graphs, rows) {
  const box = made("div", "", "card");
  const all = made("div", "", "graphs");
  all.append(...graphs);
  box.append(made("h3", title), all, list(rows));
  return box;
}

function gpuCard(gpu, series = [[], [], [], []]) {
  const { pcie } = gpu;
  const rate = (value) => or(value, (n) => bytes(n) + "/s");
  const graphs = [
    graph("Utilization", series[0], or(gpu.utilization, (n) => n + " %")),
    graph("Memory", series[1], or(gpu.memory_used, (n) => `${bytes(n)} of ${or(gpu.memory_total, bytes)}`)),
    graph("Power", series[2], or(gpu.power, (w) => `${w.toFixed(0)} of ${or(gpu.power_limit, (limit) => limit.toFixed(0))} W`)),
    graph("Temperature", series[3], or(gpu.temperature, (n) => n + " °C")),
  ];
  const held = gpu.throttled_by.length > 0;
  const rows = [
    ["Clock", or(gpu.clock, (n) => `${n} of ${or(gpu.clock_limit, String)} MHz`)],
    ["Held by", held ? gpu.throttled_by.join(", ") : "nothing", held ? "hot" : ""],
    ["PCIe", or(pcie.generation, (n) => `${n}.0 x${or(pcie.width, String)} of ${or(pcie.generation_limit, String)}.0 x${or(pcie.width_limit, String)}, out ${rate(pcie.sent)}, in ${rate(pcie.received)}`)],
  ];
  if (gpu.nvlink.length) {
    const up = gpu.nvlink.filter((link) => link.active).length;
    const rates = gpu.nvlink_rates ? `, out ${rate(gpu.nvlink_rates[0])}, in ${rate(gpu.nvlink_rates[1])}` : "";
    rows.push(["NVLink", `${up} of ${gpu.nvlink.length} up${rates}`]);
  }
  return card(`GPU ${gpu.index}: ${gpu.name}`, graphs, rows);
}

function processes(rows) {
  const value = COLUMNS[sort][1];
  const order = (a, b) => (value(a) ?? -1) < (value(b) ?? -1) ? -1 : (value(a) ?? -1) > (value(b) ?? -1) ? 1 : 0;
  const sorted = [...rows].sort((a, b) => (rising ? order(a, b) : order(b, a)));
  $("processes").tBodies[0].replaceChildren(...sorted.map((process) => {
    const row = document.createElement("tr");
    for (const [at, [, get, words]] of COLUMNS.entries()) {
      row.append(made("td", or(get(process), words).replace("unknown", "–"), at < COLUMNS.length - 1 ? "number" : ""));
    }
    return row;
  }));
  [...$("processes").tHead.rows[0].cells].forEach((cell, at) => {
    if (at === sort) cell.setAttribute("aria-sort", rising ? "ascending" : "descending");
    else cell.removeAttribute("aria-sort");
  });
}

function show(seen) {
  last = seen;
  const { host } = seen.sample;
  const load = host.load ? host.load.map((n) => n.toFixed(2)).join(" ") : "unknown";
  const graphs = [
    graph("CPU", seen.host[0], or(host.utilization, (n) => n.toFixed(0) + " %")),
    graph("Memory", seen.host[1], `${bytes(host.memory_used)} of ${bytes(host.memory_total)}`),
  ];
  const driver = seen.sample.driver ? [["Driver", seen.sample.driver]] : [];
  $("host").replaceChildren(card(`${host.name}: ${host.cpu}, ${host.cores} cores`, graphs, [["Load", load], ...driver]));
  const cards = seen.sample.gpus.map((gpu) => gpuCard(gpu, seen.gpus[gpu.index]));
  $("gpu-cards").replaceChildren(...(cards.length ? cards : [made("p", seen.sample.no_gpu ?? "", "card")]));
  processes(seen.sample.processes);
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
  const head = $("processes").tHead.rows[0];
  COLUMNS.forEach(([name], at) => {
    const [cell, button] = [document.createElement("th"), made("button", name)];
    cell.scope = "col";
    button.type = "button";
    button.addEventListener("click", () => {
      [sort, rising] = [at, at === sort ? !rising : false];
      if (last) processes(last.sample.processes);
    });
    cell.append(button);
    head.append(cell);
  });
  look();
}
