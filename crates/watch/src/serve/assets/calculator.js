// The calculator. Each change of an input sends a request to the server. The inputs are in the address, so that it can
// be shared.
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const form = $("question");
const DEFAULTS = { cpu: "Core i7-10700K", gpu: "RTX 3080" };
const EXAMPLES = {
  // 10,000 GFLOP and 1 GB on a CPU of 400 GFLOPS and a GPU that reaches 12.5 TFLOPS: 25 s and 1.3 s.
  "example-network": { model: "simple", flops: 10000, data: 1, startup: 375, cpu_rate: 400, gpu_rate: 12.5, bandwidth: 8 },
  // A million paths: 300 s on the CPU, less than 5 s on the GPU.
  "example-paths": { model: "simple", flops: 120000, data: 0.008, startup: 500, cpu_rate: 400, gpu_rate: 30 },
};
// The server's name for this machine.
const THIS_MACHINE = "this";
const UNMEASURED = "hardware like this machine's: run cuprous calibrate to measure it.";
const SIMPLE_ONLY = ["cpu_rate", "gpu_rate", "bandwidth"];
let hardware = null;
let asked = 0;

export function element(name, attributes = {}, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

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
  $("problem").textContent = "";
  $("answer").dataset.old = "false";
  $("speedup").textContent = e.factor;
  $("range").textContent = e.range_words ? `, ${e.range_words[0]} to ${e.range_words[1]} depending on how good the code is` : "";
  $("sentence").textContent = e.sentence;
  [$("cpu-time").textContent, $("gpu-time").textContent, $("latency").textContent] = e.words;
  bars(e);
  $("figures").textContent = `Figures of the CPU: ${e.figures[0]}; of the GPU: ${e.figures[1]}.`;
  $("roofline-part").hidden = !e.roofline;
  if (e.roofline) roofline(e);
  const rows = e.parts.map(([name, seconds]) => [`GPU: ${name}`, duration(seconds)]);
  if (e.bound) rows.push(["Bound by", e.bound]);
  if (e.break_even_repeats > 1) rows.push(["Worth it from", `${e.break_even_repeats} repeats on`]);
  if (e.joules) rows.push(["Energy", `${joules(e.joules[0])} on the CPU, ${joules(e.joules[1])} on the GPU`]);
  const price = (value) => (value === null ? "unknown" : Number(value.toPrecision(3)));
  if (e.price) rows.push(["Cost", `${price(e.price[0])} on the CPU, ${price(e.price[1])} on the GPU`]);
  $("details").replaceChildren(...rows.flatMap(([name, value]) => {
    const [term, text] = [document.createElement("dt"), document.createElement("dd")];
    [term.textContent, text.textContent] = [name, value];
    return [term, text];
  }));
}

function duration(seconds) {
  for (const [factor, unit] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]) {
    if (seconds >= factor) return `${(seconds / factor).toPrecision(3)} ${unit}`;
  }
  return `${(seconds * 1e9).toPrecision(3)} ns`;
}

function joules(value) {
  for (const [factor, unit] of [[3.6e6, "kWh"], [1e3, "kJ"]]) {
    if (value >= factor) return `${Number((value / factor).toPrecision(3))} ${unit}`;
  }
  return `${value.toPrecision(3)} J`;
}

function bars(e) {
  const longest = Math.max(e.cpu_seconds, e.gpu_seconds, Number.MIN_VALUE);
  const rows = [["cpu", e.cpu, e.cpu_seconds, e.words[0]], ["gpu", e.gpu, e.gpu_seconds, e.words[1]]];
  const children = rows.flatMap(([kind, name, seconds, words], at) => [
    element("text", { x: 0, y: 20 + 75 * at }, `${name}: ${words}`),
    element("rect", { class: kind, x: 0, y: 28 + 75 * at, height: 30, width: Math.max((seconds / longest) * 600, 1) }),
  ]);
  const title = element("title", { id: "bars-title" }, `${e.cpu} takes ${e.words[0]}, ${e.gpu} takes ${e.words[1]}.`);
  $("bars").replaceChildren(title, ...children);
}

// Logarithmic axes: operations per byte from 1/64 to at least 65,536, and operations per second.
function roofline(e) {
  const [left, right, top, bottom] = [70, 590, 15, 270];
  const { cpu, gpu, intensity } = e.roofline;
  const from = Math.min(1 / 64, intensity ?? 1);
  const to = Math.max(65536, intensity ?? 1);
  const reach = ([flops, bandwidth], at) => Math.min(flops, bandwidth * at);
  const low = Math.min(reach(cpu, from), reach(gpu, from)) / 2;
  const high = Math.max(cpu[0], gpu[0]) * 2;
  const x = (at) => left + (Math.log(at / from) / Math.log(to / from)) * (right - left);
  const y = (value) => bottom - (Math.log(value / low) / Math.log(high / low)) * (bottom - top);
  const children = [element("title", { id: "roofline-title" }, rooflineWords(e))];
  for (let power = Math.ceil(Math.log10(low)); power <= Math.log10(high); power++) {
    const at = y(10 ** power);
    children.push(element("line", { class: "axis", x1: left, x2: right, y1: at, y2: at }));
    children.push(element("text", { x: 0, y: at + 5 }, si(10 ** power)));
  }
  for (let power = Math.ceil(Math.log10(from)); power <= Math.log10(to); power++) {
    const at = x(10 ** power);
    children.push(element("line", { class: "axis", x1: at, x2: at, y1: top, y2: bottom }));
    children.push(element("text", { x: at, y: bottom + 18, "text-anchor": "middle" }, String(10 ** power)));
  }
  children.push(element("text", { x: (left + right) / 2, y: 312, "text-anchor": "middle" }, "operations a byte"));
  for (const [kind, rates] of [["cpu", cpu], ["gpu", gpu]]) {
    const ridge = Math.min(Math.max(rates[0] / rates[1], from), to);
    const corner = [from, ridge, to].map((at) => `${x(at)} ${y(reach(rates, at))}`);
    children.push(element("path", { class: kind, d: `M${corner.join("L")}` }));
    if (intensity) children.push(element("circle", { class: kind, cx: x(intensity), cy: y(reach(rates, intensity)), r: 7 }));
  }
  $("roofline").replaceChildren(...children);
}

function si(value) {
  for (const [factor, prefix] of [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (value >= factor * 0.999) return `${Math.round(value / factor)} ${prefix}`;
  }
  return String(value);
}

function rooflineWords(e) {
  const { cpu, gpu, intensity } = e.roofline;
  const words = ([flops, bandwidth]) => `${(flops / 1e9).toPrecision(3)} GFLOPS and ${(bandwidth / 1e9).toPrecision(3)} GB/s`;
  const task = intensity ? ` This task does ${intensity.toPrecision(3)} operations a byte.` : "";
  return `Roofline: the CPU reaches ${words(cpu)}, the GPU ${words(gpu)}.${task}`;
}

function showSources() {
  const note = $("sources");
  note.replaceChildren("Figures from ");
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
  update();
}
