// The three sections of the page. The part of the address after # names the one that is shown.
import { start as calculator } from "/calculator.js";
import { start as monitor } from "/monitor.js";
import { start as profile } from "/profile.js";

const starts = { calculator, monitor, profile };
const started = {};

function show(focus) {
  const wanted = location.hash.slice(1);
  const name = wanted in starts ? wanted : "calculator";
  for (const other of Object.keys(starts)) document.getElementById(other).hidden = other !== name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === "#" + name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = document.querySelector(`#${name} h2`).textContent + " – Cuprous";
  started[name] ??= starts[name]() ?? true;
  if (focus) document.getElementById("content").focus({ preventScroll: true });
}

addEventListener("hashchange", () => {
  if (location.hash !== "#content") show(true);
});
document.querySelector("nav").hidden = false;
show(false);
