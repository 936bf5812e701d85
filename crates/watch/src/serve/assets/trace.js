// Traces in Chrome's format: their events by track, and sums over them.
import { quantity } from "/dom.js";

// What an event is, by its category or its name, in the order of the legend. Other tools' categories are among them.
export const KINDS = [
  ["device", "kernels and routines", /^(step|kernel|program|gpu|compute)/],
  ["copies", "copies", /copy|memcpy|memset/],
  ["wait", "waits", /^wait|synchron/],
  ["plan", "planning and compiling", /^(plan|compil)/],
  ["part", "named parts", /^(part|user_annotation)/],
  ["host", "the host's calls", /./],
];

function kindOf({ cat, name }) {
  const words = String(cat ?? "").toLowerCase() || String(name ?? "").toLowerCase();
  return (KINDS.find(([, , pattern]) => pattern.test(words)) ?? KINDS[KINDS.length - 1])[0];
}

// Cuprous names runs of programs by a hash, which says nothing to people: the line that made it run does.
function title({ name, args }) {
  const [, kind] = /^(plan|run|program) [0-9a-f]{8}$/.exec(name ?? "") ?? [];
  return kind && typeof args?.line === "string" && args.line !== "?" ? `${kind} ${args.line}` : String(name ?? "?");
}

// Microseconds by which an event may begin before the one ahead of it ends, because times are rounded to nanoseconds.
const ROUNDING = 0.0015;

// Returns tracks with their events and the depth of each, from events of the kinds X, B, E, M, C, s, t, f.
export function parse(trace) {
  const events = Array.isArray(trace) ? trace : trace?.traceEvents;
  if (!Array.isArray(events)) throw new Error("it has no list traceEvents");
  const [byTrack, names, open, starts, ends, curves] = [new Map(), new Map(), new Map(), new Map(), [], new Map()];
  const stacks = Array.isArray(trace.stacks) ? trace.stacks.filter((stack) => typeof stack === "string") : [];
  const found = { tracks: [], flows: [], skipped: 0, stacks, sources: trace.sources ?? {}, about: trace.otherData ?? {} };
  const key = (event) => `${event.pid ?? 0}/${event.tid ?? 0}`;
  const add = (event, start, length) => {
    if (!Number.isFinite(start) || !(length >= 0)) return void found.skipped++;
    if (!byTrack.has(key(event))) byTrack.set(key(event), []);
    byTrack.get(key(event)).push({ name: title(event), start, length, args: event.args, cat: event.cat, kind: kindOf(event) });
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
      while (ends.length && ends[ends.length - 1] <= event.start + ROUNDING) ends.pop();
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
    const words = name.endsWith(" (bytes)") ? `${name.slice(0, -8)}, at most ${quantity(most, "B")}` : `${name}, at most ${most.toLocaleString("en")}`;
    found.tracks.push({ id, name: words, events: [], depth: 2, points, most });
  }
  return found;
}

export function totals(tracks) {
  const rows = new Map();
  for (const track of tracks) {
    for (const { name, length, kind } of track.events) {
      const id = track.id + " " + name;
      const row = rows.get(id) ?? rows.set(id, { name, kind, track: track.name, calls: 0, total: 0, longest: 0 }).get(id);
      row.calls++;
      row.total += length;
      row.longest = Math.max(row.longest, length);
    }
  }
  return [...rows.values()].sort((a, b) => b.total - a.total);
}

// Totals by source line and kind, for events with `line` in their arguments (several lines are separated by commas). Parts
// that the user named and runs of programs are left out, because what they contain is counted.
export function byLine(tracks) {
  const lines = new Map();
  for (const track of tracks) {
    for (const { args, length, cat, kind } of track.events) {
      if (typeof args?.line !== "string" || cat === "part" || cat === "run") continue;
      const names = args.line.split(", ");
      for (const name of names) {
        const row = lines.get(name) ?? lines.set(name, { name, time: 0, calls: 0 }).get(name);
        row[kind] = (row[kind] ?? 0) + length / names.length;
        row.time += length / names.length;
        row.calls++;
      }
    }
  }
  return [...lines.values()].sort((a, b) => b.time - a.time);
}

// The time of each kind, and from the first to the last event, in microseconds. An event inside another one of its kind
// and track is counted already.
export function summary(tracks) {
  const sums = new Map(KINDS.map(([kind]) => [kind, 0]));
  for (const { events } of tracks) {
    const ends = new Map();
    for (const { kind, start, length } of events) {
      const from = Math.max(start, ends.get(kind) ?? -Infinity);
      const end = start + length;
      if (end <= from) continue;
      sums.set(kind, sums.get(kind) + end - from);
      ends.set(kind, end);
    }
  }
  return sums;
}

// The frames of the flame graph as a tree: { name, time, own, children }, widest first. A file of Cuprous has the stacks of
// source lines ("frame;frame microseconds"); for others, events inside of others are frames.
export function flames({ stacks, tracks }) {
  const root = { name: "all", time: 0, children: new Map() };
  const child = (node, name, kind) => node.children.get(name) ?? node.children.set(name, { name, kind, time: 0, children: new Map() }).get(name);
  for (const stack of stacks) {
    const cut = stack.lastIndexOf(" ");
    const time = Number(stack.slice(cut + 1));
    if (!(time > 0)) continue;
    let node = root;
    root.time += time;
    for (const name of stack.slice(0, cut).split(";")) {
      node = child(node, name);
      node.time += time;
    }
  }
  if (!stacks.length) {
    for (const { name, events } of tracks) {
      const open = [];
      for (const event of events) {
        const { depth, start, length } = event;
        open.length = depth;
        const parent = depth ? open[depth - 1] : child(root, name, "host");
        const node = child(parent, event.name, event.kind);
        node.time += length;
        open[depth] = node;
        if (depth) continue;
        parent.time += length;
        root.time += length;
      }
    }
  }
  const settle = (node) => {
    node.children = [...node.children.values()].sort((a, b) => b.time - a.time);
    node.children.forEach(settle);
    // Events that overlap without one being inside the other make no frame wider than its caller.
    node.time = Math.max(node.time, node.children.reduce((sum, child) => sum + child.time, 0));
    return node;
  };
  return settle(root);
}
