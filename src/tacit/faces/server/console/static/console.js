// The console's own script: everything works without it, and is nicer with it.
"use strict";
(() => {
  const find = (id) => document.getElementById(id);

  // ── light and dark ─────────────────────────────────────────────────────────────────────────────────────────────────
  const theme = find("theme");
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const showTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; theme.setAttribute("aria-label", `Change to ${isDark() ? "light" : "dark"}`); };
  theme.addEventListener("click", () => {
    const chosen = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = chosen;
    try { localStorage.setItem("tacit-theme", chosen); } catch { /* for this page alone */ }
    showTheme();
  });
  showTheme();
  theme.hidden = false;

  document.addEventListener("click", (event) => { if (event.target.matches("[data-print]")) print(); });
  const showPrint = () => document.querySelectorAll("[data-print]").forEach((button) => { button.hidden = false; });
  showPrint();

  // ── the policy: from a finding to its line ─────────────────────────────────────────────────────────────────────────
  const text = find("text");
  document.querySelectorAll("[data-line]").forEach((link) => link.addEventListener("click", (event) => {
    event.preventDefault();
    const lines = text.value.split("\n"), number = Number(link.dataset.line) - 1;
    const start = lines.slice(0, number).reduce((sum, line) => sum + line.length + 1, 0);
    text.focus();
    text.setSelectionRange(start, start + lines[number].length);
    text.scrollTop = Math.max(0, text.scrollHeight * (number / lines.length) - text.clientHeight / 2);
  }));

  const form = find("ask");
  if (!form) return;
  const sql = find("sql"), epsilon = find("epsilon"), off = find("off"), slide = find("slide"), price = find("price"), go = find("go");
  const send = (path, fields, signal) => fetch(path, {
    method: "POST", body: new URLSearchParams(fields), headers: { "X-Tacit-Part": "1" }, signal, redirect: "follow",
  });

  // ── the price, as it is typed ──────────────────────────────────────────────────────────────────────────────────────
  const WRITTEN = /\bDP-SELECT(\s+)(\d*\.?\d+(?:e-?\d+)?(?:\/\d+)?)(?=[\s,(*])/i;
  let waiting = 0, running = null, error = null, column = "";

  async function ask() {
    if (running) running.abort();
    running = new AbortController();
    const mine = running;
    price.setAttribute("aria-busy", "true");
    try {
      const reply = await send("/ask/price", { csrf: form.csrf.value, sql: sql.value, epsilon: epsilon.value, delta: form.delta.value, parameters: form.parameters.value }, mine.signal);
      if (reply.status === 401) { location.assign("/signin?next=/ask"); return; }
      price.innerHTML = await reply.text();
      const facts = price.querySelector("[data-epsilon]");
      const noisy = price.querySelector("[data-error]");
      error = noisy ? Number(noisy.dataset.error) : null;
      column = noisy ? noisy.dataset.column : "";
      if (facts) take(facts.dataset.epsilon);
      else if (document.activeElement !== off) off.value = "";
    } catch (trouble) {
      if (trouble.name === "AbortError") return;
      price.textContent = "The server cannot be reached.";
    }
    if (mine === running) price.setAttribute("aria-busy", "false");
  }
  const soon = (delay) => { clearTimeout(waiting); waiting = setTimeout(ask, delay); };

  // ── from ε to the error, and back ──────────────────────────────────────────────────────────────────────────────────
  const ratio = (text) => { const [over, under] = String(text).split("/"); return Number(over) / (under === undefined ? 1 : Number(under)); };
  const highest = ratio(form.querySelector(".dial").dataset.highest), lowest = Math.min(0.001, highest / 1000);
  const round = (value) => String(Number(value.toPrecision(2)));
  const place = (value) => Math.round(1000 * Math.log(value / lowest) / Math.log(highest / lowest));

  function take(text) { // what the price is now, wherever it was written
    if (document.activeElement !== epsilon) epsilon.value = text;
    slide.value = place(ratio(text));
    slide.setAttribute("aria-valuetext", `ε = ${text}`);
    for (const shown of [off, form.querySelector(".linked")]) shown.hidden = error === null;
    if (error !== null && document.activeElement !== off) off.value = String(Number(error.toPrecision(3)));
    find("of").textContent = column ? `± of ${column}` : "";
  }
  function write(value) { // a price that was chosen, into the question where it names one
    const text = round(Math.min(Math.max(value, lowest), highest));
    epsilon.value = text;
    if (WRITTEN.test(sql.value)) sql.value = sql.value.replace(WRITTEN, (_, space) => `DP-SELECT${space}${text}`);
    return text;
  }
  async function aim() { // the least price, to two digits, whose error is no more than what was typed
    const target = ratio(off.value);
    if (!(target > 0) || !(error > 0)) return;
    for (let step = 0; step < 4 && Math.abs(error / target - 1) > 0.02; step += 1) {
      const before = epsilon.value;
      if (write(ratio(epsilon.value) * error / target) === before) break;
      await ask();
      if (!(error > 0)) break;
    }
  }
  slide.addEventListener("input", () => { write(lowest * (highest / lowest) ** (slide.value / 1000)); soon(120); });
  epsilon.addEventListener("input", () => { if (ratio(epsilon.value) > 0 && WRITTEN.test(sql.value)) sql.value = sql.value.replace(WRITTEN, (_, space) => `DP-SELECT${space}${epsilon.value.trim()}`); soon(350); });
  for (const field of [form.delta, form.parameters]) field.addEventListener("input", () => soon(350));
  let aiming = 0;
  off.addEventListener("input", () => { clearTimeout(aiming); aiming = setTimeout(aim, 500); });
  off.addEventListener("blur", () => { if (error !== null) off.value = String(Number(error.toPrecision(3))); });
  sql.addEventListener("input", () => { soon(350); complete(); });
  for (const shown of [slide, form.querySelector(".scale"), form.querySelector(".keys")]) shown.hidden = false;
  if (sql.value.trim()) ask();

  // ── asking ─────────────────────────────────────────────────────────────────────────────────────────────────────────
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (go.disabled) return; // the second of two clicks
    go.disabled = true;
    go.textContent = "Asking …";
    try {
      const reply = await send("/ask", new FormData(form));
      if (reply.status === 401) { location.assign("/signin?next=/ask"); return; }
      const page = new DOMParser().parseFromString(await reply.text(), "text/html");
      const refused = page.querySelector(".refused[role=alert]");
      const answer = find("answer");
      answer.replaceChildren(...(page.getElementById("answer")?.childNodes ?? []));
      if (refused) answer.replaceChildren(document.importNode(refused, true));
      const fresh = page.querySelector("#ask [name=key]");
      if (fresh) form.key.value = fresh.value;
      const left = page.querySelector(".price .left");
      if (left) form.querySelector(".left").textContent = left.textContent;
      if (reply.redirected) history.pushState({}, "", new URL(reply.url).pathname);
      showPrint();
      answer.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    } catch {
      find("answer").textContent = "The server cannot be reached. Ask again: the same question is charged once.";
    }
    go.disabled = false;
    go.textContent = "Ask";
  });
  addEventListener("popstate", () => location.reload());

  // ── completion ─────────────────────────────────────────────────────────────────────────────────────────────────────
  const list = find("completions");
  let words = null, chosen = 0;
  const wordBefore = () => /[\w.\-]+$/.exec(sql.value.slice(0, sql.selectionStart))?.[0] ?? "";

  async function complete() {
    if (words === null) {
      words = [];
      try { words = await (await fetch("/ask/words", { headers: { "X-Tacit-Part": "1" } })).json(); } catch { return; }
    }
    const word = wordBefore();
    const low = word.toLowerCase();
    const found = word.length < 2 ? [] : words.filter(([text]) => text.toLowerCase().startsWith(low) && text.toLowerCase() !== low).slice(0, 8);
    list.replaceChildren(...found.map(([text, kind], index) => {
      const item = document.createElement("li");
      item.id = `completion-${index}`;
      item.setAttribute("role", "option");
      item.append(...[text, kind].map((part) => Object.assign(document.createElement("span"), { textContent: part })));
      item.addEventListener("mousedown", (event) => { event.preventDefault(); choose(index); insert(); });
      return item;
    }));
    list.hidden = !found.length;
    sql.setAttribute("aria-expanded", String(!list.hidden));
    if (found.length) { choose(0); at(word); }
  }
  function at(word) { // under the word: a copy of the text, laid out as the editor lays it out, says where that is
    const style = getComputedStyle(sql), copy = document.createElement("div"), mark = document.createElement("span");
    for (const name of ["font", "padding", "lineHeight", "letterSpacing", "tabSize", "boxSizing", "borderWidth"]) copy.style[name] = style[name];
    Object.assign(copy.style, { position: "absolute", visibility: "hidden", whiteSpace: "pre-wrap", overflowWrap: "break-word", width: `${sql.clientWidth}px`, top: "0", left: "0" });
    copy.textContent = sql.value.slice(0, sql.selectionStart - word.length);
    mark.textContent = word;
    copy.append(mark);
    sql.parentNode.append(copy);
    const left = Math.min(mark.offsetLeft, Math.max(0, sql.clientWidth - list.offsetWidth));
    list.style.left = `${left}px`;
    list.style.top = `${mark.offsetTop + mark.offsetHeight - sql.scrollTop + 4}px`;
    copy.remove();
  }
  function choose(index) {
    chosen = (index + list.children.length) % list.children.length;
    [...list.children].forEach((item, number) => item.setAttribute("aria-selected", String(number === chosen)));
    sql.setAttribute("aria-activedescendant", `completion-${chosen}`);
  }
  function insert() {
    const word = wordBefore(), text = list.children[chosen].firstChild.textContent, end = sql.selectionStart;
    const name = words.find(([known]) => known === text)?.[1] && !/^[a-z_][a-z0-9_]*$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    sql.setRangeText(name, end - word.length, end, "end");
    hide();
    soon(350);
  }
  function hide() { list.hidden = true; sql.removeAttribute("aria-activedescendant"); sql.setAttribute("aria-expanded", "false"); }
  sql.setAttribute("aria-autocomplete", "list");
  sql.setAttribute("aria-controls", "completions");
  sql.addEventListener("blur", hide);
  sql.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); hide(); form.requestSubmit(); return; }
    if (list.hidden) return;
    const acts = { ArrowDown: () => choose(chosen + 1), ArrowUp: () => choose(chosen - 1), Escape: hide, Tab: insert };
    if (acts[event.key] && !event.shiftKey) { event.preventDefault(); acts[event.key](); }
  });
})();
