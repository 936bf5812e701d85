// The viewer of profiles. A chosen file is not uploaded.
import { $, duration, html, onResize, quantity } from "/dom.js";
import * as flame from "/flame.js";
import { fill } from "/tables.js";
import * as timeline from "/timeline.js";
import { KINDS, byLine, flames, parse, summary, totals } from "/trace.js";

export { parse };
const time = (us) => (us ? duration(us / 1e6) : "–");
const count = (n) => n.toLocaleString("en");
let sources = {};
let begin = 0;
let chosen = false; // The user opened a file, which the server's profile must not replace.

// The texts about an event, the most important first.
function describe({ name, start, length, kind, args }) {
  const label = KINDS.find(([id]) => id === kind)[1];
  const lines = [`${name}: ${time(length)}`, `${label}, from ${duration((start - begin) / 1e6)} on`];
  if (typeof args?.line === "string" && args.line !== "?") lines.push(...args.line.split(", ").map((at) => [at, sources[at]].filter(Boolean).join(": ")));
  for (const [key, value] of Object.entries(args ?? {})) {
    if (key !== "line" && value !== "") lines.push(`${key}: ${key === "bytes" ? quantity(value, "B") : String(value).slice(0, 200)}`);
  }
  return lines;
}

// A name with the color of its kind.
function named(kind, name) {
  const cell = html("span");
  cell.append(html("span", "", `swatch ${kind}`), name);
  return cell;
}

// A time with a bar as long as its part of the longest.
function barred(us, longest) {
  const [cell, bar] = [html("span", "", "barred"), html("span", "", "bar")];
  bar.style.width = `${longest ? (us / longest) * 5 : 0}rem`;
  cell.append(bar, time(us));
  return cell;
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
  const { tracks } = found;
  const events = tracks.reduce((sum, track) => sum + track.events.length, 0);
  const skipped = found.skipped ? `, ${found.skipped} of other kinds are not shown` : "";
  const curves = tracks.filter((track) => track.points).length;
  const drawn = curves ? ` and ${curves} ${curves === 1 ? "curve" : "curves"}` : "";
  $("profile-state").textContent = `${name}: ${events} events on ${tracks.length - curves} tracks${drawn}${skipped}.`;
  $("trace").hidden = events === 0;
  if (!events) return;
  ({ sources } = found);
  for (const track of tracks) for (const event of track.events) event.track = track;
  begin = tracks.reduce((first, track) => track.events.reduce((least, event) => Math.min(least, event.start), first), Infinity);
  summarize(found);
  timeline.show(found, describe);
  showLines(byLine(tracks));
  const tree = flames(found);
  $("flame-part").hidden = !tree.time;
  if (tree.time) flame.show(tree);
  const sums = totals(tracks);
  fill($("totals"), [
    { name: "Name", value: (row) => row.name, show: (row) => named(row.kind, row.name), kind: "command" },
    { name: "Track", value: (row) => row.track, show: (row) => row.track },
    { name: "Calls", value: (row) => row.calls, number: true, show: (row) => count(row.calls) },
    { name: "Total", value: (row) => row.total, number: true, show: (row) => barred(row.total, sums[0].total) },
    { name: "Mean", value: (row) => row.total / row.calls, number: true, show: (row) => time(row.total / row.calls) },
    { name: "Longest", value: (row) => row.longest, number: true, show: (row) => time(row.longest) },
  ], sums, 3);
}

function summarize({ tracks, about }) {
  const sums = summary(tracks);
  const used = KINDS.filter(([kind]) => sums.get(kind) > 0);
  // A call of the host contains what it waited for, so the sum would mislead.
  const figures = used.filter(([kind]) => kind !== "host").map(([kind, words]) => [kind, words, time(sums.get(kind))]);
  if (Number.isFinite(about.wall_seconds)) figures.unshift(["", "from start to end", duration(about.wall_seconds)]);
  $("summary").replaceChildren(...figures.map(([kind, words, value]) => {
    const box = html("div");
    const term = html("dt", "");
    if (kind) term.append(html("span", "", `swatch ${kind}`));
    term.append(words);
    box.append(term, html("dd", value));
    return box;
  }));
  $("kinds").replaceChildren(...used.map(([kind, words]) => named(kind, words)));
}

function showLines(lines) {
  $("lines-part").hidden = lines.length === 0;
  if (!lines.length) return;
  const has = (name) => lines.some((row) => (name === "source" ? sources[row.name] : row[name] > 0));
  const columns = [
    { name: "Line", value: (row) => row.name, show: (row) => row.name, kind: "command" },
    { name: "Source", value: (row) => sources[row.name] ?? "", show: (row) => html("code", sources[row.name] ?? "–"), kind: "source" },
    { name: "Time", value: (row) => row.time, number: true, show: (row) => barred(row.time, lines[0].time) },
    ...[["device", "Kernels"], ["copies", "Copies"], ["wait", "Waits"], ["plan", "Planning"], ["host", "Host"]].map(([id, name]) => (
      { id, name, value: (row) => row[id] ?? 0, number: true, show: (row) => time(row[id]) })),
    { name: "Events", value: (row) => row.calls, number: true, show: (row) => count(row.calls) },
  ].filter(({ id, name }) => (id ? has(id) : name !== "Source" || has("source")));
  const table = $("lines");
  table.tHead?.rows[0]?.replaceChildren();
  delete table.sorting;
  fill(table, columns, lines, columns.findIndex(({ name }) => name === "Time"));
}

async function read(file) {
  if (!file) return;
  chosen = true;
  $("profile-state").textContent = `Reading ${file.name} …`;
  open(await file.text(), file.name);
}

export async function start() {
  timeline.start();
  flame.start();
  onResize($("timeline"), timeline.draw);
  $("file").addEventListener("change", (event) => read(event.target.files[0]));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    if (!$("profile").hidden) read(event.dataTransfer.files[0]);
  });
  const answer = await fetch("/api/profile").catch(() => null);
  const text = answer?.status === 200 ? await answer.text() : null;
  if (chosen) return;
  if (text !== null) open(text, "The server's profile");
  else $("profile-state").textContent = "No profile is open.";
}
