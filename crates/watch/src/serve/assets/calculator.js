// The calculator. Each change of an input sends a request to the server. The inputs are in the address, so that it can
// be shared.
import { bars, roofline } from "/charts.js";
import { $, html, onResize } from "/dom.js";

const form = $("question");
const DEFAULTS = { cpu: "Core i7-10700K", gpu: "RTX 3080" };
const EXAMPLES = {
  // 10,000 GFLOP and 1 GB on a CPU of 400 GFLOPS and a GPU that reaches 12.5 TFLOPS: 25 s and 1.3 s.
  "example-network": { model: "simple", flops: 10000, data: 1, startup: 375, cpu_rate: 400, gpu_rate: 12.5, bandwidth: 8 },
  // A million paths: 300 s on the CPU, less than 5 s on the GPU.
  "example-paths": { model: "simple", flops: 120000, data: 0.008, startup: 500, cpu_rate: 400, gpu_rate: 30 },
  // 100 products of two matrices of 8192 x 8192, which stay on the GPU.
  "example-matrix": { flops: 1100, data: 0.54, result: 0.27, startup: 400, repeats: 100, matrix: 1 },
  // A sum of two arrays of a million numbers.
  "example-small": { flops: 0.001, data: 0.008, result: 0.004, startup: 400 },
};
// The server's name for this machine.
const THIS_MACHINE = "this";
const UNMEASURED = "hardware like this machine's: run cuprous calibrate to measure it.";
const SIMPLE_ONLY = ["cpu_rate", "gpu_rate", "bandwidth"];
let hardware = null;
let latest = null;
let asked = 0;

function fields() {
  return [...form.elements].filter((field) => field.name && field.name !== "model");
}

function isSimple() {
  return $("simple").checked;
}

// The values of the inputs by name, without empty ones.
function read() {
  const values = isSimple() ? { model: "simple" } : {};
  for (const field of fields()) {
    if (field.type === "checkbox") {
      if (field.checked) values[field.name] = "1";
    } else if (field.value.trim() !== "" && (isSimple() || !SIMPLE_ONLY.includes(field.name))) {
      values[field.name] = field.value.trim();
    }
  }
  return values;
}

function write(values) {
  $(values.model === "simple" ? "simple" : "full").checked = true;
  for (const field of fields()) {
    const value = values[field.name];
    if (field.type === "checkbox") field.checked = value === "1";
    else if (field.tagName === "SELECT") {
      const wanted = [...field.options].find((option) => option.value === value);
      if (wanted) field.value = wanted.value;
    } else field.value = value ?? "";
  }
}

// The request. Only the server parses quantities: it receives the typed text and the unit of the field.
function question(values) {
  const query = new URLSearchParams();
  for (const field of fields()) {
    const value = values[field.name];
    field.removeAttribute("aria-invalid");
    if (value === undefined) continue;
    query.set(field.name, value);
    if (field.dataset.unit) query.set(field.name + "_unit", field.dataset.unit);
  }
  if (values.model === "simple") query.set("simple", "1");
  return query;
}

function label(field) {
  return field.labels[0].firstChild.textContent.trim();
}

async function update() {
  const values = read();
  $("simple-inputs").hidden = !isSimple();
  history.replaceState(null, "", "?" + new URLSearchParams(values) + location.hash);
  showSources();
  const query = question(values);
  const number = ++asked;
  try {
    const answer = await fetch("/api/estimate?" + query);
    if (number !== asked) return; // A later request is pending.
    if (!answer.ok) return refuse((await answer.text()).trim());
    const estimate = await answer.json();
    if (number === asked) show(estimate);
  } catch {
    refuse("The server does not answer. Is `cuprous serve` still running?");
  }
}

// The server's error about a quantity begins with the quantity's name.
function refuse(problem) {
  const [, name, rest] = /^(\w+): (.*)$/s.exec(problem) ?? [];
  const field = fields().find((other) => other.name === name);
  field?.setAttribute("aria-invalid", "true");
  $("problem").textContent = field ? `${label(field)}: ${rest}` : problem;
  $("answer").dataset.old = "true";
}

function show(e) {
  latest = e;
  $("problem").textContent = "";
  $("answer").dataset.old = "false";
  $("speedup").textContent = e.factor;
  $("range").textContent = e.range_words
    ? `between ${e.range_words[0]} and ${e.range_words[1]}, depending on how good the code is`
    : "by the simple formula, from the throughputs given";
  $("sentence").textContent = e.sentence;
  const range = e.range_words ? ` (${e.range_words[0]} to ${e.range_words[1]})` : "";
  const times = html("span", `CPU ${e.words[0]} · GPU ${e.words[1]}`, "whole");
  $("glance").replaceChildren(html("b", e.factor), `${range} · `, times, html("span", ": go to the answer", "hidden"));
  [$("cpu-time").textContent, $("gpu-time").textContent, $("latency").textContent] = e.words;
  $("figures").textContent = `Figures of the CPU: ${e.figures[0]}. Figures of the GPU: ${e.figures[1]}.`;
  draw();
  const rows = [];
  if (e.bound) rows.push(["Bound by", e.bound]);
  if (e.break_even_repeats > 1) rows.push(["Worth it from", `${e.break_even_repeats} repeats on`]);
  if (e.joules) rows.push(["Energy", `${joules(e.joules[0])} on the CPU, ${joules(e.joules[1])} on the GPU`]);
  const price = (value) => (value === null ? "unknown" : Number(value.toPrecision(3)));
  if (e.price) rows.push(["Cost", `${price(e.price[0])} on the CPU, ${price(e.price[1])} on the GPU`]);
  $("details").replaceChildren(...rows.flatMap(([name, value]) => [html("dt", name), html("dd", value)]));
}

function draw() {
  if (!latest || $("calculator").hidden) return;
  bars(latest);
  $("roofline-part").hidden = !latest.roofline;
  if (latest.roofline) roofline(latest);
}

function joules(value) {
  for (const [factor, unit] of [[3.6e6, "kWh"], [1e3, "kJ"]]) {
    if (value >= factor) return `${Number((value / factor).toPrecision(3))} ${unit}`;
  }
  return `${value.toPrecision(3)} J`;
}

function showSources() {
  const note = $("sources");
  note.replaceChildren();
  const links = new Map();
  const own = [];
  for (const [list, id] of [[hardware.cpus, "cpu"], [hardware.gpus, "gpu"]]) {
    if ($(id).value === THIS_MACHINE) own.push(hardware.here[id].measured);
    const row = list.find((other) => other.name === $(id).value);
    for (const { source, address } of row?.figures ?? []) links.set(address, source);
  }
  [...links].forEach(([address, title], at) => {
    const link = document.createElement("a");
    [link.href, link.textContent, link.rel] = [address, title, "noreferrer"];
    note.append(at ? ", " : "", link);
  });
  if (own.length) note.append(links.size ? " and " : "", own.every(Boolean) ? "this machine, as cuprous calibrate measured it." : UNMEASURED);
  if (own.length && hardware.here.hint) note.append(" " + hardware.here.hint + ".");
}

async function share(event) {
  const button = event.currentTarget;
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "It is in the address bar";
  }
  setTimeout(() => (button.textContent = "Copy this address"), 2000);
}

export async function start() {
  try {
    hardware = await (await fetch("/api/hardware")).json();
  } catch {
    return refuse("The server does not answer.");
  }
  for (const [id, list] of [["cpu", hardware.cpus], ["gpu", hardware.gpus]]) {
    const own = hardware.here[id];
    const options = list.map((row) => new Option(row.remark ? `${row.name} (${row.remark})` : row.name, row.name));
    if (own) options.unshift(new Option(`This machine: ${own.name}${own.measured ? ", measured" : ""}`, THIS_MACHINE));
    $(id).replaceChildren(...options);
    // Measured figures are the most accurate, so they are the default.
    $(id).value = own?.measured ? THIS_MACHINE : DEFAULTS[id];
  }
  const given = Object.fromEntries(new URLSearchParams(location.search));
  if (Object.keys(given).length) write(given);
  let waiting = 0;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(update, 60);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const [id, values] of Object.entries(EXAMPLES)) {
    $(id).addEventListener("click", () => {
      const text = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
      write({ ...DEFAULTS, ...text });
      update();
    });
  }
  $("share").addEventListener("click", share);
  $("glance").addEventListener("click", () => $("answer").scrollIntoView());
  onResize($("bars"), draw);
  update();
}
