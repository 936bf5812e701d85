// A flame graph of buttons: as wide as their time, callers above callees. A click shows a frame over the whole width.
import { $, duration, html } from "/dom.js";

const ROW = 24;
// Frames narrower than this part of the width are left out.
const LEAST = 0.002;
let [root, zoomed, deepest] = [null, null, 0];

// What a frame is, by the brackets and names that profiles give the innermost ones.
function kindOf(node) {
  if (node.kind) return node.kind;
  if (/^\[copy/.test(node.name)) return "copies";
  if (/^\[wait/.test(node.name)) return "wait";
  if (/^\[plan/.test(node.name)) return "plan";
  if (node.children.length) return "host";
  return /\(.*:\d+\)$/.test(node.name) ? "host" : "device";
}

export function show(tree) {
  root = tree;
  link(root, null, 0);
  zoom(root);
}

function link(node, parent, depth) {
  Object.assign(node, { parent, depth });
  deepest = Math.max(depth ? deepest : 0, depth);
  for (const child of node.children) link(child, node, depth + 1);
}

function zoom(node) {
  zoomed = node;
  $("unzoom").disabled = node === root;
  const frames = [];
  const above = [];
  for (let at = node; at; at = at.parent) above.unshift(at);
  above.forEach((frame, depth) => frames.push([frame, 0, 1, depth]));
  const add = (frame, left, depth) => {
    let x = left;
    for (const child of frame.children) {
      const width = child.time / node.time;
      if (width >= LEAST) {
        frames.push([child, x, width, depth]);
        add(child, x, depth + 1);
      }
      x += width;
    }
  };
  add(node, 0, above.length);
  const box = $("flame");
  const rows = frames.reduce((most, [, , , depth]) => Math.max(most, depth + 1), 1);
  box.style.height = rows * ROW + "px";
  box.replaceChildren(...frames.map(([frame, left, width, depth]) => button(frame, left, width, depth)));
  $("flame-note").textContent = node === root
    ? "Each frame is as wide as its time, and those it called are below it. Click one to enlarge it; the arrow keys move."
    : `${node.name}: ${words(node)}`;
}

const words = (node) => `${duration(node.time / 1e6)}, ${((node.time / root.time) * 100).toFixed(1)} % of all`;

function button(frame, left, width, depth) {
  const node = html("button", frame.name, `frame ${kindOf(frame)}`);
  node.type = "button";
  node.tabIndex = frame === zoomed ? 0 : -1;
  node.title = `${frame.name}: ${words(frame)}`;
  node.setAttribute("aria-label", node.title);
  Object.assign(node.style, { left: left * 100 + "%", width: `calc(${width * 100}% - 1px)`, top: depth * ROW + "px" });
  node.frame = frame;
  node.addEventListener("click", () => {
    zoom(frame);
    focus(frame);
  });
  return node;
}

function focus(frame) {
  const node = [...$("flame").children].find((other) => other.frame === frame);
  if (!node) return;
  for (const other of $("flame").children) other.tabIndex = other === node ? 0 : -1;
  node.focus();
}

function onKey(event) {
  const { frame } = event.target;
  if (!frame) return;
  const { parent } = frame;
  const beside = (by) => parent?.children[parent.children.indexOf(frame) + by];
  const to = { ArrowUp: () => parent, ArrowDown: () => frame.children[0], ArrowLeft: () => beside(-1), ArrowRight: () => beside(1) }[event.key];
  if (event.key === "Home" || event.key === "Escape") {
    event.preventDefault();
    zoom(root);
    focus(root);
  } else if (to) {
    event.preventDefault();
    const wanted = to();
    if (wanted) focus(wanted);
  }
}

export function start() {
  $("unzoom").addEventListener("click", () => zoom(root));
  $("flame").addEventListener("keydown", onKey);
}
