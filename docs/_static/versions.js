// Offers the other versions of the documentation: those of versions.json in the folder above this version's own
// (docs/versions.py). A build that is not part of a site has no such file, and shows nothing.
"use strict";

(async () => {
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  const own = root.pathname.split("/").at(-2);
  const site = new URL("../", root);
  if (!root.protocol.startsWith("http")) return;
  const answer = await fetch(new URL("versions.json", site)).catch(() => null);
  if (!answer?.ok) return;
  const versions = await answer.json();
  if (!versions.some((version) => version.name === own)) return;

  const page = location.href.slice(root.href.length);
  // Opens the same page of another version, or its first page if it does not have this one.
  const open = async (name) => {
    const there = new URL(`${name}/`, site);
    const same = new URL(page, there);
    const found = await fetch(same, { method: "HEAD" }).catch(() => null);
    location.assign(found?.ok ? same : there);
  };

  const label = document.createElement("label");
  const select = document.createElement("select");
  label.className = "versions";
  label.append("Version ", select);
  for (const { name, title } of versions) select.add(new Option(title, name, false, name === own));
  select.addEventListener("change", () => open(select.value));
  // A page that the browser shows again, by its button, shows its own version.
  window.addEventListener("pageshow", () => { select.value = own; });
  document.querySelector(".sidebar-brand")?.after(label);

  const [newest] = versions;
  if (newest.name === own || newest.name === "dev") return;
  const note = document.createElement("p");
  const link = document.createElement("a");
  note.className = "versions-note";
  link.href = new URL(`${newest.name}/`, site);
  link.textContent = newest.name;
  link.addEventListener("click", (event) => { event.preventDefault(); open(newest.name); });
  const about = own === "dev" ? "the version in development" : `version ${own}`;
  note.append(`This page is about ${about}. Latest release: `, link, ".");
  document.querySelector("article h1")?.after(note);
})();
