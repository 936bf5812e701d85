// The timeline of a trace on a canvas: tracks over a time axis, arrows from submissions to their runs, curves.
import { $, color, duration } from "/dom.js";

const [ROW, GAP, LABEL, AXIS] = [20, 10, 18, 26];
// The most arrows drawn at a time, evenly chosen among those in view. More would be a gray area.
const ARROWS = 400;
let [tracks, flows, view, whole, picked, hovered, describe] = [[], [], [0, 1], [0, 1], null, null, null];
let waiting = false;

// Shows a trace. `words` returns the texts about an event: a title, a line with its times, more lines.
export function show(found, words) {
  ({ tracks, flows } = found);
  describe = words;
  let [first, end] = [Infinity, -Infinity];
  for (const track of tracks) {
    for (const event of track.events) [first, end] = [Math.min(first, event.start), Math.max(end, event.start + event.length)];
  }
  whole = [first, Math.max(end, first + 1e-3)];
  view = [...whole];
  pick(null);
}

const rows = () => {
  let y = AXIS;
  return tracks.map((track) => {
    const top = y;
    y += LABEL + track.depth * ROW + GAP;
    return { track, top };
  });
};

export function draw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    if (tracks.length) paint($("timeline"));
  });
}

function paint(canvas) {
  const width = canvas.clientWidth;
  const all = rows();
  const height = Math.min(all.reduce((_, { track, top }) => top + LABEL + track.depth * ROW + GAP, 60), 2000);
  const scale = devicePixelRatio || 1;
  canvas.style.height = height + 2 + "px";
  [canvas.width, canvas.height] = [width * scale, height * scale];
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const x = (at) => ((at - view[0]) / (view[1] - view[0])) * width;
  axis(pen, width, height, x);
  const fills = {};
  for (const { track, top } of all) {
    pen.fillStyle = color("--text");
    pen.fillText(track.name, 4, top + 13);
    if (track.points) {
      curve(pen, track, top + LABEL, x, color("--compute"));
      continue;
    }
    const drawn = []; // The right end of what was drawn, by depth. Events on the same pixel are skipped.
    for (const event of track.events) {
      const [left, right] = [x(event.start), x(event.start + event.length)];
      if (right < 0 || left > width || right < (drawn[event.depth] ?? -1)) continue;
      const [from, to] = [Math.max(left, 0), Math.min(Math.max(right, left + 1), width)];
      drawn[event.depth] = from + 1;
      const y = top + LABEL + event.depth * ROW;
      pen.fillStyle = fills[event.kind] ??= color("--" + event.kind);
      pen.fillRect(from, y, Math.max(to - from - 0.5, 0.5), ROW - 2);
      if (to - from > 36) {
        pen.fillStyle = fills.text ??= color("--on-color");
        pen.save();
        pen.beginPath();
        pen.rect(from, y, to - from - 6, ROW);
        pen.clip();
        pen.fillText(event.name, from + 5, y + 13);
        pen.restore();
      }
    }
    for (const [event, name] of [[hovered, "--soft"], [picked, "--text"]]) {
      if (!event || event.track !== track) continue;
      const [left, right] = [x(event.start), x(event.start + event.length)];
      pen.strokeStyle = color(name);
      pen.lineWidth = 2;
      pen.strokeRect(left, top + LABEL + event.depth * ROW - 1, Math.max(right - left, 2), ROW);
    }
  }
  arrows(pen, all, x);
}

// The time since the begin of the trace, at round numbers.
function axis(pen, width, height, x) {
  const [from, to] = [view[0] - whole[0], view[1] - whole[0]];
  const most = Math.max(Math.floor(width / 110), 2);
  const raw = (to - from) / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw * 0.999);
  pen.strokeStyle = color("--line");
  pen.lineWidth = 1;
  const digits = Math.max(3, Math.ceil(Math.log10(Math.max(to, step) / step)) + 1);
  for (let k = Math.ceil(from / step); k * step <= to; k++) {
    const at = Math.round(x(whole[0] + k * step)) + 0.5;
    pen.beginPath();
    pen.moveTo(at, 16);
    pen.lineTo(at, height);
    pen.stroke();
    pen.fillStyle = color("--soft");
    pen.textAlign = at < 24 ? "left" : at > width - 30 ? "right" : "center";
    pen.fillText(duration((k * step) / 1e6, Math.min(digits, 9)), at, 12);
  }
  pen.textAlign = "left";
}

function arrows(pen, all, x) {
  const middle = new Map(all.map(({ track, top }) => [track.id, top + LABEL + ROW / 2]));
  pen.strokeStyle = color("--soft");
  pen.lineWidth = 1;
  pen.globalAlpha = 0.45;
  const seen = flows.filter(([[from, start], [to, end]]) => end >= view[0] && start <= view[1] && middle.has(from) && middle.has(to));
  const every = Math.max(1, Math.ceil(seen.length / ARROWS));
  for (let at = 0; at < seen.length; at += every) {
    const [[from, start], [to, end]] = seen[at];
    pen.beginPath();
    pen.moveTo(x(start), middle.get(from));
    pen.lineTo(x(end), middle.get(to));
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

// Draws values as steps, at most one for each pixel.
function curve(pen, { points, most, depth }, top, x, fill) {
  const [low, high] = [top + depth * ROW - 2, depth * ROW - 4];
  pen.fillStyle = fill;
  pen.globalAlpha = 0.4;
  let first = points.findIndex(([at]) => at > view[0]) - 1;
  if (first === -2) first = points.length - 1;
  for (let k = Math.max(first, 0); k < points.length && points[k][0] <= view[1];) {
    const left = Math.max(x(points[k][0]), 0);
    let [value, next] = [points[k][1], k + 1];
    while (next < points.length && x(points[next][0]) < left + 1) value = Math.max(value, points[next++][1]);
    const right = x(next < points.length ? points[next][0] : whole[1]);
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
  picked = event;
  $("event").textContent = event ? describe(event).join(" · ") : "";
  if (event && (event.start + event.length < view[0] || event.start > view[1])) {
    move(event.start + event.length / 2 - (view[1] - view[0]) / 2);
  }
  draw();
}

// Chooses the event after the chosen one on its track, or before it.
function neighbor(by) {
  const track = picked?.track ?? tracks.find((track) => track.events.length);
  const at = picked ? track.events.indexOf(picked) + by : 0;
  const event = track?.events[Math.min(Math.max(at, 0), track.events.length - 1)];
  if (event) pick(event);
}

function focus() {
  if (picked) move(picked.start - picked.length * 0.1, Math.min(Math.max(picked.length * 1.2, 1e-3), whole[1] - whole[0]));
}

// The time and the event under the pointer.
function under({ clientX, clientY }) {
  const box = $("timeline").getBoundingClientRect();
  const at = view[0] + ((clientX - box.left) / box.width) * (view[1] - view[0]);
  const slack = (2 / box.width) * (view[1] - view[0]);
  const y = clientY - box.top;
  const hit = rows().find(({ track, top }) => y >= top + LABEL && y < top + LABEL + track.depth * ROW);
  const depth = hit && Math.floor((y - hit.top - LABEL) / ROW);
  const event = hit?.track.events.find((e) => e.depth === depth && e.start - slack <= at && e.start + e.length + slack >= at);
  return { at, event: event ?? null };
}

function hover(event, pointer) {
  const box = $("hover");
  if (event !== hovered) {
    hovered = event;
    draw();
  }
  box.hidden = !event;
  if (!event) return;
  box.replaceChildren(...describe(event).map((words, at) => Object.assign(document.createElement(at ? "div" : "b"), { textContent: words })));
  const left = Math.min(pointer.clientX + 14, document.documentElement.clientWidth - box.offsetWidth - 8);
  box.style.left = Math.max(left, 8) + "px";
  box.style.top = (pointer.clientY + 18 + box.offsetHeight > innerHeight ? pointer.clientY - box.offsetHeight - 12 : pointer.clientY + 18) + "px";
}

function listenToPointer(canvas) {
  let [from, moved] = [null, false];
  canvas.addEventListener("pointerdown", (event) => {
    [from, moved] = [{ x: event.clientX, view: [...view] }, false];
  });
  canvas.addEventListener("pointermove", (event) => {
    if (from && event.buttons) {
      const by = event.clientX - from.x;
      moved ||= Math.abs(by) > 4;
      if (moved) {
        canvas.setPointerCapture(event.pointerId);
        hover(null);
        return move(from.view[0] - (by / canvas.clientWidth) * (from.view[1] - from.view[0]));
      }
    }
    hover(under(event).event, event);
  });
  canvas.addEventListener("pointerleave", () => hover(null));
  canvas.addEventListener("click", (event) => {
    if (!moved) pick(under(event).event);
  });
  canvas.addEventListener("dblclick", focus);
  canvas.addEventListener("wheel", (event) => {
    const wide = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    // Before the timeline is clicked, the wheel scrolls the page.
    if (document.activeElement !== canvas && !event.ctrlKey && !event.shiftKey && !wide) return;
    event.preventDefault();
    if (wide) return step(event.deltaX / 1000);
    zoom(event.deltaY > 0 ? 1.25 : 0.8, under(event).at);
  }, { passive: false });
}

export function start() {
  const canvas = $("timeline");
  const buttons = {
    "zoom-in": () => zoom(0.5), "zoom-out": () => zoom(2), left: () => step(-0.3), right: () => step(0.3),
    whole: () => zoom(Infinity), previous: () => neighbor(-1), next: () => neighbor(1),
  };
  for (const [id, act] of Object.entries(buttons)) $(id).addEventListener("click", act);
  const keys = {
    "+": buttons["zoom-in"], "=": buttons["zoom-in"], "-": buttons["zoom-out"], ArrowLeft: buttons.left, ArrowRight: buttons.right,
    Home: buttons.whole, n: buttons.next, p: buttons.previous, Enter: focus, Escape: () => pick(null),
  };
  canvas.addEventListener("keydown", (event) => {
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  listenToPointer(canvas);
}
