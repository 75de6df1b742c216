// Search in SECTIONS (search-index.js): every word has to be there, as the beginning of a word or, from three letters, within one.
"use strict";
const query = document.getElementById("query"), hits = document.getElementById("hits"), root = document.body.dataset.root;
const plain = SECTIONS.map(one => ({ page: one.page.toLowerCase(), heading: one.heading.toLowerCase(), text: one.text.toLowerCase() }));
let chosen = -1;

function scoreOf(text, word) {
  const at = text.indexOf(word);
  if (at < 0) return 0;
  const begins = at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1]);
  const ends = at + word.length === text.length || !/[\p{L}\p{N}_]/u.test(text[at + word.length]);
  return begins ? (ends ? 3 : 2) : word.length > 2 ? 1 : 0;
}

function found(words) {
  const scored = [];
  plain.forEach((one, i) => {
    let sum = 0;
    for (const word of words) {
      const score = 12 * scoreOf(one.heading, word) + 5 * scoreOf(one.page, word) + scoreOf(one.text, word);
      if (score === 0) return;
      sum += score;
    }
    if (one.heading === words.join(" ")) sum += 40;
    if (SECTIONS[i].url.startsWith("docs/notes/") || SECTIONS[i].url.startsWith("CHANGELOG")) sum *= 0.6;
    scored.push([sum, i]);
  });
  return scored.sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, 20).map(pair => SECTIONS[pair[1]]);
}

// Text with the words marked; names and documents enter as text alone.
function marked(parent, text, words) {
  const pattern = new RegExp("(" + words.map(word => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") + ")", "gi");
  text.split(pattern).forEach((part, i) => {
    const node = i % 2 ? document.createElement("mark") : document.createTextNode(part);
    if (i % 2) node.textContent = part;
    parent.append(node);
  });
}

function snippet(text, words) {
  const at = Math.max(0, Math.min(...words.map(word => text.toLowerCase().indexOf(word)).filter(place => place >= 0), Infinity) - 50);
  return Number.isFinite(at) ? (at > 0 ? "… " : "") + text.slice(at, at + 170) + (at + 170 < text.length ? " …" : "") : text.slice(0, 170);
}

function show() {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  hits.replaceChildren();
  chosen = -1;
  hits.hidden = words.length === 0;
  if (hits.hidden) return;
  for (const one of found(words)) {
    const item = document.createElement("li"), link = document.createElement("a"), title = document.createElement("b"), page = document.createElement("small"), text = document.createElement("p");
    link.href = root + one.url;
    title.textContent = one.heading;
    page.textContent = one.page;
    marked(text, snippet(one.text, words), words);
    link.append(page, title, text);
    item.append(link);
    hits.append(item);
  }
  if (!hits.children.length) {
    const none = document.createElement("li");
    none.className = "none";
    none.textContent = "Nothing has all of these words.";
    hits.append(none);
  }
}

function choose(step) {
  const items = [...hits.querySelectorAll("li:not(.none)")];
  if (!items.length) return;
  chosen = (chosen + step + items.length) % items.length;
  items.forEach((item, i) => item.classList.toggle("chosen", i === chosen));
  items[chosen].scrollIntoView({ block: "nearest" });
}

query.addEventListener("input", show);
query.addEventListener("focus", show);
query.addEventListener("keydown", event => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); choose(event.key === "ArrowDown" ? 1 : -1); }
  if (event.key === "Enter") { const link = hits.querySelectorAll("a")[Math.max(chosen, 0)]; if (link) { hits.hidden = true; location.href = link.href; } }
  if (event.key === "Escape") { hits.hidden = true; query.blur(); }
});
document.addEventListener("keydown", event => { if (event.key === "/" && document.activeElement !== query) { event.preventDefault(); query.focus(); } });
document.addEventListener("click", event => { if (!event.target.closest(".search")) hits.hidden = true; });
const asked = new URLSearchParams(location.search).get("q");
if (asked) { query.value = asked; show(); }
document.querySelector(".menu [aria-current]")?.scrollIntoView({ block: "nearest" });
