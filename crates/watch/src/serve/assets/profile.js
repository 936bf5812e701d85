// The viewer of traces in Chrome's format: tracks over time on a canvas, totals in a table. A chosen file is not
// uploaded.
const $ = (id) => document.getElementById(id);
const [ROW, GAP, LABEL] = [18, 8, 16];
let [tracks, flows, view, whole, picked] = [[], [], [0, 1], [0, 1], null];

// The most arrows drawn at a time, evenly chosen among those in view. More would be a gray area.
const ARROWS = 400;

// Returns tracks with their events and the depth of each, from events of the kinds X, B, E, M, C, s, t, f.
export function parse(trace) {
  const events = Array.isArray(trace) ? trace : trace?.traceEvents;
  if (!Array.isArray(events)) throw new Error("it has no list traceEvents");
  const [byTrack, names, open, starts, ends, curves] = [new Map(), new Map(), new Map(), new Map(), [], new Map()];
  const found = { tracks: [], flows: [], skipped: 0 };
  const key = (event) => `${event.pid ?? 0}/${event.tid ?? 0}`;
  const add = (event, start, length) => {
    if (!Number.isFinite(start) || !(length >= 0)) return void found.skipped++;
    if (!byTrack.has(key(event))) byTrack.set(key(event), []);
    byTrack.get(key(event)).push({ name: String(event.name ?? "?"), start, length, args: event.args, cat: event.cat });
  };
  for (const event of events) {
    if (event === null || typeof event !== "object") { found.skipped++; continue; }
    const at = Number(event.ts);
    if (event.ph === "X") add(event, at, Number(event.dur ?? 0));
    else if (event.ph === "B") (open.get(key(event)) ?? open.set(key(event), []).get(key(event))).push(event);
    else if (event.ph === "E") {
      const begun = open.get(key(event))?.pop();
      if (begun) add(begun, Number(begun.ts), at - Number(begun.ts));
      else found.skipped++;
    } else if (event.ph === "M" && event.name === "thread_name") names.set(key(event), String(event.args?.name));
    else if (event.ph === "M" && event.name === "process_name") names.set(`p${event.pid}`, String(event.args?.name));
    else if (event.ph === "s") starts.set(`${event.cat}/${event.id}`, [key(event), at]);
    else if (event.ph === "f") ends.push(event);
    else if (event.ph === "C" && Number.isFinite(at)) {
      for (const [part, value] of Object.entries(event.args ?? {})) {
        if (!Number.isFinite(value)) { found.skipped++; continue; }
        const id = `${event.pid ?? 0} ${event.name} ${part}`;
        const curve = curves.get(id) ?? curves.set(id, { name: `${event.name ?? "?"} (${part})`, points: [] }).get(id);
        curve.points.push([at, value]);
      }
    } else if (event.ph !== "M" && event.ph !== "t") found.skipped++;
  }
  // In the file, the end of an arrow may come before its start.
  for (const event of ends) {
    const from = starts.get(`${event.cat}/${event.id}`);
    if (from) found.flows.push([from, [key(event), Number(event.ts)]]);
  }
  for (const [id, list] of byTrack) {
    list.sort((a, b) => a.start - b.start || b.length - a.length);
    const ends = [];
    for (const event of list) {
      while (ends.length && ends[ends.length - 1] <= event.start) ends.pop();
      event.depth = ends.length;
      ends.push(event.start + event.length);
    }
    const process = names.get(`p${id.split("/")[0]}`);
    const name = [process, names.get(id) ?? `track ${id}`].filter(Boolean).join(": ");
    found.tracks.push({ id, name, events: list, depth: list.reduce((most, event) => Math.max(most, event.depth + 1), 1) });
  }
  found.tracks.sort((a, b) => a.id.localeCompare(b.id, "en", { numeric: true }));
  found.flows.sort((a, b) => a[0][1] - b[0][1]);
  for (const [id, { name, points }] of curves) {
    points.sort((a, b) => a[0] - b[0]);
    const most = points.reduce((high, [, value]) => Math.max(high, value), 0);
    found.tracks.push({ id, name: `${name}, at most ${most.toLocaleString("en")}`, events: [], depth: 2, points, most });
  }
  return found;
}

export function totals(tracks) {
  const rows = new Map();
  for (const track of tracks) {
    for (const { name, length } of track.events) {
      const id = track.id + " " + name;
      const row = rows.get(id) ?? rows.set(id, { name, track: track.name, calls: 0, total: 0, longest: 0 }).get(id);
      row.calls++;
      row.total += length;
      row.longest = Math.max(row.longest, length);
    }
  }
  return [...rows.values()].sort((a, b) => b.total - a.total);
}

// Totals by source line, for events with `line` in their arguments (several lines are separated by commas). All
// processes but the first are devices. Parts that the user named are left out, because their contents are counted
// already.
export function byLine(tracks) {
  const lines = new Map();
  const host = tracks[0]?.id.split("/")[0];
  for (const track of tracks) {
    const column = track.id.split("/")[0] === host ? "host" : "device";
    for (const { args, length, cat } of track.events) {
      if (typeof args?.line !== "string" || cat === "part") continue;
      const names = args.line.split(", ");
      for (const name of names) {
        const row = lines.get(name) ?? lines.set(name, { name, host: 0, device: 0, calls: 0 }).get(name);
        row[column] += length / names.length;
        row.calls++;
      }
    }
  }
  return [...lines.values()].sort((a, b) => b.device + b.host - a.device - a.host);
}

// Formats microseconds, the unit of the trace format.
function words(us) {
  if (us >= 1e6) return `${(us / 1e6).toPrecision(4)} s`;
  if (us >= 1e3) return `${(us / 1e3).toPrecision(4)} ms`;
  return `${us.toPrecision(4)} µs`;
}

function open(text, name) {
  let found;
  try {
    found = parse(JSON.parse(text));
  } catch (error) {
    $("trace").hidden = true;
    $("profile-state").textContent = `${name} is no trace in Chrome's format: ${error.message}.`;
    return;
  }
  ({ tracks, flows } = found);
  const events = tracks.reduce((sum, track) => sum + track.events.length, 0);
  const skipped = found.skipped ? `, ${found.skipped} of other kinds are not shown` : "";
  const curves = tracks.filter((track) => track.points).length;
  const drawn = curves ? ` and ${curves} ${curves === 1 ? "curve" : "curves"}` : "";
  $("profile-state").textContent = `${name}: ${events} events on ${tracks.length - curves} tracks${drawn}${skipped}.`;
  $("trace").hidden = events === 0;
  if (!events) return;
  let [first, end] = [Infinity, -Infinity];
  for (const track of tracks) {
    for (const event of track.events) [first, end] = [Math.min(first, event.start), Math.max(end, event.start + event.length)];
  }
  whole = [first, Math.max(end, first + 1e-3)];
  view = [...whole];
  picked = null;
  fill("totals", 2, totals(tracks).map((row) =>
    [row.name, row.track, String(row.calls), words(row.total), words(row.total / row.calls), words(row.longest)]));
  const lines = byLine(tracks);
  $("lines-part").hidden = lines.length === 0;
  fill("lines", 1, lines.map((row) => [row.name, words(row.device), words(row.host), String(row.calls)]));
  draw();
}

// Shows the first rows of a table. Columns from `numbers` on are numbers.
function fill(id, numbers, rows) {
  $(id).tBodies[0].replaceChildren(...rows.slice(0, 500).map((cells) => {
    const line = document.createElement("tr");
    cells.forEach((text, at) => {
      const cell = line.insertCell();
      cell.textContent = text;
      if (at >= numbers) cell.className = "number";
    });
    return line;
  }));
}

const rows = () => {
  let y = 0;
  return tracks.map((track) => {
    const top = y;
    y += LABEL + track.depth * ROW + GAP;
    return { track, top };
  });
};

function draw() {
  const canvas = $("timeline");
  const width = canvas.clientWidth;
  const height = Math.min(Math.max(rows().reduce((_, { track, top }) => top + LABEL + track.depth * ROW + GAP, 0), 60), 2000);
  const scale = devicePixelRatio || 1;
  canvas.style.height = height + 2 + "px";
  [canvas.width, canvas.height] = [width * scale, height * scale];
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = "12px system-ui, sans-serif";
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(name).trim();
  const x = (at) => ((at - view[0]) / (view[1] - view[0])) * width;
  for (const { track, top } of rows()) {
    pen.fillStyle = color("--text");
    pen.fillText(track.name, 4, top + 12);
    if (track.points) {
      curve(pen, track, top + LABEL, x, color("--gpu"));
      continue;
    }
    const drawn = []; // The right end of what was drawn, by depth. Events on the same pixel are skipped.
    for (const event of track.events) {
      const [left, right] = [x(event.start), x(event.start + event.length)];
      if (right < 0 || left > width || right < (drawn[event.depth] ?? -1)) continue;
      const [from, to] = [Math.max(left, 0), Math.min(Math.max(right, left + 1), width)];
      drawn[event.depth] = from + 1;
      const y = top + LABEL + event.depth * ROW;
      pen.fillStyle = event === picked ? color("--bad") : color(event.depth % 2 ? "--cpu" : "--gpu");
      pen.fillRect(from, y, Math.max(to - from - 0.5, 0.5), ROW - 2);
      if (to - from > 40) {
        pen.fillStyle = color("--back");
        pen.fillText(event.name, from + 4, y + 12, to - from - 8);
      }
    }
  }
  const middle = new Map(rows().map(({ track, top }) => [track.id, top + LABEL + ROW / 2]));
  pen.strokeStyle = color("--bad");
  pen.globalAlpha = 0.4;
  const seen = flows.filter(([[from, start], [to, end]]) => end >= view[0] && start <= view[1] && middle.has(from) && middle.has(to));
  const every = Math.max(1, Math.ceil(seen.length / ARROWS));
  for (let at = 0; at < seen.length; at += every) {
    const [[from, start], [to, end]] = seen[at];
    pen.beginPath();
    pen.moveTo(x(start), middle.get(from));
    pen.lineTo(x(end), middle.get(to));
    pen.stroke();
  }
}

// Draws values as steps, at most one for each pixel.
function curve(pen, { points, most, depth }, top, x, color) {
  const [low, high] = [top + depth * ROW - 2, depth * ROW - 4];
  pen.fillStyle = color;
  pen.globalAlpha = 0.5;
  let first = points.findIndex(([at]) => at > view[0]) - 1;
  if (first === -2) first = points.length - 1;
  for (let k = Math.max(first, 0); k < points.length && points[k][0] <= view[1];) {
    const left = Math.max(x(points[k][0]), 0);
    let [value, next] = [points[k][1], k + 1];
    while (next < points.length && x(points[next][0]) < left + 1) value = Math.max(value, points[next++][1]);
    const right = next < points.length ? x(points[next][0]) : left + 1;
    const height = most > 0 ? (value / most) * high : 0;
    pen.fillRect(left, low - height, Math.max(right - left, 1), height);
    k = next;
  }
  pen.globalAlpha = 1;
}

function zoom(factor, at = (view[0] + view[1]) / 2) {
  const length = Math.min(Math.max((view[1] - view[0]) * factor, 1e-3), whole[1] - whole[0]);
  const part = (at - view[0]) / (view[1] - view[0]);
  move(at - part * length, length);
}

function move(from, length = view[1] - view[0]) {
  const start = Math.min(Math.max(from, whole[0]), whole[1] - length);
  view = [start, start + length];
  draw();
}

const step = (part) => move(view[0] + part * (view[1] - view[0]));

function pick(event) {
  const box = $("timeline").getBoundingClientRect();
  const at = view[0] + ((event.clientX - box.left) / box.width) * (view[1] - view[0]);
  const slack = (2 / box.width) * (view[1] - view[0]);
  const y = event.clientY - box.top;
  const hit = rows().find(({ track, top }) => y >= top && y < top + LABEL + track.depth * ROW);
  const depth = hit && Math.floor((y - hit.top - LABEL) / ROW);
  picked = hit?.track.events.find((e) => e.depth === depth && e.start - slack <= at && e.start + e.length + slack >= at) ?? null;
  $("event").textContent = picked
    ? `${picked.name}: ${words(picked.length)} from ${words(picked.start - whole[0])} on. ${picked.args ? JSON.stringify(picked.args).slice(0, 500) : ""}`
    : "";
  draw();
}

async function read(file) {
  if (!file) return;
  $("profile-state").textContent = `Reading ${file.name} …`;
  open(await file.text(), file.name);
}

export async function start() {
  const canvas = $("timeline");
  const buttons = { "zoom-in": () => zoom(0.5), "zoom-out": () => zoom(2), left: () => step(-0.3), right: () => step(0.3), whole: () => zoom(Infinity) };
  for (const [id, act] of Object.entries(buttons)) $(id).addEventListener("click", act);
  const keys = { "+": buttons["zoom-in"], "=": buttons["zoom-in"], "-": buttons["zoom-out"], ArrowLeft: buttons.left, ArrowRight: buttons.right, Home: buttons.whole };
  canvas.addEventListener("keydown", (event) => {
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey) return; // Without a modifier key, the page scrolls.
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, view[0] + ((event.clientX - box.left) / box.width) * (view[1] - view[0]));
  }, { passive: false });
  canvas.addEventListener("click", pick);
  addEventListener("resize", () => tracks.length && draw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => tracks.length && draw());
  $("file").addEventListener("change", (event) => read(event.target.files[0]));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    if (!$("profile").hidden) read(event.dataTransfer.files[0]);
  });
  const answer = await fetch("/api/profile").catch(() => null);
  if (answer?.status === 200) open(await answer.text(), "The server's profile");
  else $("profile-state").textContent = "No profile is open.";
}
