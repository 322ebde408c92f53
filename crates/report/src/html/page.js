"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector, within = document) => within.querySelector(selector);
  // Text only ever goes in as text.
  const make = (tag, className, text) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const SVG = "http://www.w3.org/2000/svg";
  const draw = (tag, attributes) => {
    const node = document.createElementNS(SVG, tag);
    for (const name in attributes) node.setAttribute(name, attributes[name]);
    return node;
  };
  const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
  root.classList.add("scripted");

  // ---- Rows, as packed by the report: [number, lane, class, what, place, stack, object] or [-1, steps, threads].
  const NUMBER = 0, LANE = 1, CLASS = 2, WHAT = 3, PLACE = 4, STACK = 5, OBJECT = 6;
  const isFold = (row) => row[NUMBER] === -1;
  const placeText = (place) => {
    if (!place) return "";
    const [file, line, name] = data.places[place];
    return line ? data.files[file][0] + ":" + line : name;
  };
  // The line matters more than the end of a long file name.
  const shortened = (place) => {
    const tail = place.slice(place.lastIndexOf(":"));
    return place.length > 15 && tail.length < 9 ? place.slice(0, 14 - tail.length) + "…" + tail : place;
  };
  const sourceLine = (place) => {
    if (!place) return "";
    const [file, line] = data.places[place];
    const lines = data.source[file];
    return (lines && lines[line] ? lines[line] : "").trim();
  };

  const ROW = 22, NUMBER_WIDTH = 52, SPINE = 22, TEXT = 30, MOST_LANES = 8, MANY = 150, PRINTED = 300, LAST_LANE = 230;

  class View {
    constructor(finding, name, title, packed, beside) {
      this.run = data.runs[packed.run];
      this.marks = new Map(packed.marks);
      this.beside = beside;
      this.name = finding + "-" + name;
      this.selected = -1;
      this.open = new Set();
      this.interest();
      this.everything = this.run.rows.length <= MANY;
      this.lanes();
      this.locks = new Map();
      for (const bar of this.run.bars) if (!this.locks.has(bar[1])) this.locks.set(bar[1], this.locks.size % 6);
      this.element(title);
      this.arrange();
      const first = this.markRows()[0];
      if (first !== undefined) this.selected = this.displayOf[first];
    }

    /// What the finding is about: the memory and locks of its accesses.
    interest() {
      const objects = new Set();
      for (const row of this.marks.keys()) {
        const packed = this.run.rows[row];
        if (packed[OBJECT]) objects.add(packed[OBJECT]);
        for (const [lane, lock, , from, to] of this.run.bars)
          if (lane === packed[LANE] && from <= row && row <= to) objects.add(lock);
      }
      this.about = objects;
      this.matters = this.run.rows.map((row, i) =>
        this.marks.has(i) || row[CLASS] === "e" && !isFold(row) || !isFold(row) && objects.has(row[OBJECT]));
    }

    markRows() {
      return [...this.marks.keys()].sort((a, b) => a - b);
    }

    /// A column for each thread; of many threads, those that matter, and one for all others.
    lanes() {
      const run = this.run;
      const weight = run.lanes.map(() => 0);
      run.rows.forEach((row, i) => {
        if (!isFold(row)) weight[row[LANE]] += this.marks.has(i) ? 1e9 : this.matters[i] ? 1000 : 1;
      });
      let shown = run.lanes.map((_, i) => i);
      if (shown.length > MOST_LANES) {
        shown.sort((a, b) => weight[b] - weight[a]);
        shown = shown.slice(0, MOST_LANES - 1).sort((a, b) => a - b);
      }
      this.column = run.lanes.map((_, lane) => (shown.includes(lane) ? shown.indexOf(lane) : shown.length));
      this.heads = shown.map((lane) => run.lanes[lane]);
      const others = run.lanes.length - shown.length;
      if (others) this.heads.push([others + " others", ""]);
      this.hasOthers = others > 0;
    }

    element(title) {
      const run = this.run;
      const section = make("section", "run");
      const heading = make("h3", "", title + " ");
      heading.id = "run-" + this.name;
      heading.append(make("span", "", grouped(run.steps) + " steps; it " + run.outcome));
      const bar = make("div", "bar");
      const button = (label, what, act) => {
        const node = make("button", "", label);
        node.type = "button";
        node.title = what;
        node.addEventListener("click", act);
        bar.append(node);
      };
      if (this.marks.size) {
        button("◀ access", "Previous access of the finding ([)", () => this.toMark(-1));
        button("access ▶", "Next access of the finding (])", () => this.toMark(1));
      }
      const label = make("label", "", " all steps");
      this.box = make("input");
      this.box.type = "checkbox";
      this.box.checked = this.everything;
      this.box.addEventListener("change", () => this.showAll(this.box.checked));
      label.prepend(this.box);
      bar.append(label);
      const legend = make("div", "legend");
      let listed = 0;
      for (const [lock, colour] of this.locks) {
        if (listed++ === 12) { legend.append(make("span", "", "…")); break; }
        const entry = make("span", "", "");
        const swatch = make("i");
        swatch.style.background = "var(--lock-" + colour + ")";
        entry.append(swatch, data.strings[lock]);
        legend.append(entry);
      }
      this.scroller = make("div", "lanes");
      this.scroller.tabIndex = 0;
      this.scroller.setAttribute("role", "listbox");
      this.scroller.setAttribute("aria-labelledby", heading.id);
      this.head = make("div", "head");
      this.canvas = make("div", "canvas");
      this.scroller.append(this.head, this.canvas);
      this.scroller.addEventListener("scroll", () => this.later());
      this.scroller.addEventListener("keydown", (event) => this.key(event));
      section.append(heading, bar, legend, this.scroller);
      this.section = section;
      new ResizeObserver(() => { this.measure(); this.render(); }).observe(this.scroller);
    }

    /// Which rows are shown: a run of rows that do not matter is one row that counts.
    arrange() {
      const rows = this.run.rows;
      this.display = [];
      this.displayOf = new Array(rows.length);
      let i = 0;
      while (i < rows.length) {
        let end = i;
        while (!this.everything && end < rows.length && !this.matters[end]) end++;
        if (end - i > 3 && !this.open.has(i)) {
          this.display.push({ fold: [i, end] });
          for (let k = i; k < end; k++) this.displayOf[k] = this.display.length - 1;
          i = end;
          continue;
        }
        end = Math.max(end, i + 1);
        for (; i < end; i++) {
          this.display.push({ row: i });
          this.displayOf[i] = this.display.length - 1;
        }
      }
      // Where lines and bars are drawn, by what is shown.
      const at = (row) => this.displayOf[Math.min(row, rows.length - 1)];
      this.links = this.run.links.map(([kind, from, to]) => [kind, at(from), at(to), rows[from], rows[to]]);
      this.links = this.links.filter(([, from, to]) => from !== to && this.display[from].row !== undefined && this.display[to].row !== undefined);
      this.bars = this.run.bars.map(([lane, lock, shared, from, to]) => [lane, lock, shared, at(from), at(to)]);
      this.measure();
    }

    measure() {
      const width = this.scroller.clientWidth || 600;
      this.sourceWidth = width > 900 ? Math.round(width * 0.32) : width > 420 ? 118 : 0;
      // A row has one step, whose text may run on to the right: only the last lane needs all of its own room.
      const lanes = this.heads.length, room = width - NUMBER_WIDTH - this.sourceWidth;
      this.laneWidth = lanes > 1 ? Math.max(64, Math.min(190, (room - LAST_LANE) / (lanes - 1))) : room;
      this.lanesEnd = Math.max(NUMBER_WIDTH + room, NUMBER_WIDTH + this.laneWidth * (lanes - 1) + Math.min(LAST_LANE, room));
      this.width = this.lanesEnd + this.sourceWidth;
      this.canvas.style.height = this.display.length * ROW + "px";
      this.canvas.style.width = this.head.style.width = this.width + "px";
      this.head.replaceChildren();
      const cell = (text, width, title) => {
        const node = make("span", "", text);
        node.style.width = width + "px";
        if (title) node.title = title;
        this.head.append(node);
      };
      cell("step", NUMBER_WIDTH);
      this.heads.forEach(([label, name], i) => {
        const last = i === lanes - 1;
        cell(name ? label + " " + name : label, last ? this.lanesEnd - NUMBER_WIDTH - i * this.laneWidth : this.laneWidth, name);
      });
      if (this.sourceWidth) cell("source", this.sourceWidth);
    }

    laneLeft(lane) { return NUMBER_WIDTH + this.column[lane] * this.laneWidth; }

    later() {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => { this.waiting = false; this.render(); });
    }

    render(whole) {
      const top = Math.max(0, this.scroller.scrollTop - 26);
      let first = Math.max(0, Math.floor(top / ROW) - 12);
      let last = Math.min(this.display.length, Math.ceil((top + this.scroller.clientHeight) / ROW) + 12);
      if (whole) {
        const marked = this.markRows().map((row) => this.displayOf[row]);
        const middle = marked.length ? marked[0] : this.display.length;
        first = Math.max(0, middle - PRINTED / 2);
        last = Math.min(this.display.length, first + PRINTED);
      }
      const nodes = [this.lines(first, last)];
      for (let i = first; i < last; i++) nodes.push(this.row(i));
      this.canvas.replaceChildren(...nodes);
      if (this.selected >= 0) this.scroller.setAttribute("aria-activedescendant", "row-" + this.name + "-" + this.selected);
    }

    row(i) {
      const entry = this.display[i];
      const node = make("div", "row");
      node.id = "row-" + this.name + "-" + i;
      node.style.top = i * ROW + "px";
      node.style.width = this.width + "px";
      node.setAttribute("role", "option");
      node.setAttribute("aria-selected", String(i === this.selected));
      node.setAttribute("aria-setsize", String(this.display.length));
      node.setAttribute("aria-posinset", String(i + 1));
      if (i === this.selected) node.classList.add("selected");
      const cell = (className, left, width, text) => {
        const part = make("span", className, text);
        part.style.left = left + "px";
        part.style.width = Math.max(0, width) + "px";
        node.append(part);
        return part;
      };
      const packed = entry.fold ? null : this.run.rows[entry.row];
      if (!packed || isFold(packed)) {
        node.classList.add("fold");
        const text = entry.fold
          ? "⋯ " + grouped(this.counted(entry.fold)) + " steps that do not matter here"
          : "⋯ " + grouped(packed[1]) + " steps of " + packed[2] + (packed[2] === 1 ? " thread" : " threads") + " left out";
        cell("do", NUMBER_WIDTH + TEXT, this.width - NUMBER_WIDTH - TEXT, text);
        node.setAttribute("aria-label", text);
        node.addEventListener("click", () => { this.unfold(i); });
        return node;
      }
      const mark = this.marks.get(entry.row);
      const lane = this.run.lanes[packed[LANE]];
      const other = this.hasOthers && this.column[packed[LANE]] === this.heads.length - 1;
      node.classList.add(packed[CLASS]);
      if (packed[OBJECT] && this.about.has(packed[OBJECT])) node.classList.add("about");
      const before = i > 0 && this.display[i - 1].row !== undefined ? this.run.rows[this.display[i - 1].row] : null;
      if (before && !isFold(before) && before[LANE] !== packed[LANE]) node.classList.add("switch");
      cell("n", 0, 46, String(packed[NUMBER]));
      const left = this.laneLeft(packed[LANE]) + TEXT;
      const what = data.strings[packed[WHAT]];
      const part = cell("do", left, this.lanesEnd - left - 4, (other ? lane[0] + ": " : "") + what);
      part.title = what;
      if (mark) {
        node.classList.add("marked");
        node.dataset.mark = mark;
        part.prepend(make("span", "mark", String(mark)), " ");
      }
      const place = this.sourceWidth > 200 ? placeText(packed[PLACE]) : shortened(placeText(packed[PLACE]));
      const source = sourceLine(packed[PLACE]);
      if (this.sourceWidth) cell("src", this.lanesEnd + 6, this.sourceWidth - 10, place + (source && this.sourceWidth > 200 ? "  " + source : "")).title = source;
      node.setAttribute("aria-label", "step " + packed[NUMBER] + ", " + lane[0] + (mark ? ", access " + mark : "") + ": " + what + (place ? ", " + place : ""));
      node.addEventListener("click", () => this.select(i));
      return node;
    }

    counted([from, to]) {
      return this.run.rows.slice(from, to).reduce((sum, row) => sum + (isFold(row) ? row[1] : 1), 0);
    }

    /// Lanes, locks held and arrows between the rows in sight.
    lines(first, last) {
      const svg = draw("svg", { width: this.width, height: Math.max(0, last - first) * ROW, "aria-hidden": "true" });
      svg.style.top = first * ROW + "px";
      const marker = draw("marker", { id: "arrow-" + this.name, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" });
      marker.append(draw("path", { d: "M0 0 L8 4 L0 8 z", class: "arrow" }));
      const defs = draw("defs", {});
      defs.append(marker);
      svg.append(defs);
      const y = (i) => (i - first + 0.5) * ROW;
      this.heads.forEach((_, column) => {
        const x = NUMBER_WIDTH + column * this.laneWidth + SPINE;
        svg.append(draw("line", { x1: x, x2: x, y1: 0, y2: (last - first) * ROW, class: "spine" }));
      });
      const slots = new Map();
      for (const [lane, lock, shared, from, to] of this.bars) {
        if (to < first || from >= last || from === to && this.display[from].fold) continue;
        const key = this.column[lane];
        if (!slots.has(key)) slots.set(key, []);
        const taken = slots.get(key);
        let slot = taken.findIndex((end) => end < from);
        if (slot < 0) slot = taken.length;
        taken[slot] = to;
        const rect = draw("rect", { x: this.laneLeft(lane) + 3 + Math.min(slot, 2) * 6, width: 4, rx: 2, y: y(Math.max(from, first)) - 5,
          height: Math.max(10, (Math.min(to, last) - Math.max(from, first)) * ROW + 10) });
        rect.style.fill = shared ? "none" : "var(--lock-" + this.locks.get(lock) + ")";
        rect.style.stroke = "var(--lock-" + this.locks.get(lock) + ")";
        svg.append(rect);
      }
      let drawn = 0;
      for (const [kind, from, to, source, target] of this.links) {
        if (to < first || from >= last || drawn > 400) continue;
        drawn++;
        const x1 = this.laneLeft(source[LANE]) + SPINE, x2 = this.laneLeft(target[LANE]) + SPINE;
        const y1 = y(from), y2 = y(to), bend = Math.min(40, Math.abs(x2 - x1) / 2 + 12);
        const toward = x2 >= x1 ? 1 : -1;
        svg.append(draw("path", { d: "M" + x1 + " " + y1 + " C" + (x1 + bend * toward) + " " + y1 + " " + (x2 - bend * toward) + " " + y2 + " " + (x2 - 3 * toward) + " " + y2,
          class: "link " + kind, "marker-end": "url(#arrow-" + this.name + ")" }));
      }
      for (let i = first; i < last; i++) {
        const row = this.display[i].row;
        if (row === undefined || isFold(this.run.rows[row])) continue;
        const marked = this.marks.has(row);
        svg.append(draw("circle", { cx: this.laneLeft(this.run.rows[row][LANE]) + SPINE, cy: y(i), r: marked ? 5 : 3, class: marked ? "dot marked" : "dot" }));
      }
      return svg;
    }

    unfold(i) {
      const fold = this.display[i].fold;
      if (!fold) return;
      this.open.add(fold[0]);
      // Rows that were folded away count as shown from here on.
      for (let k = fold[0]; k < fold[1]; k++) this.matters[k] = true;
      this.arrange();
      this.render();
    }

    showAll(everything) {
      const kept = this.selected >= 0 && this.display[this.selected].row;
      this.everything = this.box.checked = everything;
      this.arrange();
      this.selected = Number.isInteger(kept) ? this.displayOf[kept] : -1;
      this.reveal();
    }

    reveal() {
      if (this.selected >= 0) {
        const middle = this.selected * ROW - this.scroller.clientHeight / 2;
        const top = this.selected * ROW, bottom = top + ROW + 26;
        if (top < this.scroller.scrollTop || bottom > this.scroller.scrollTop + this.scroller.clientHeight) this.scroller.scrollTop = Math.max(0, middle);
      }
      this.render();
    }

    select(i) {
      this.selected = Math.max(0, Math.min(i, this.display.length - 1));
      this.reveal();
      this.tell();
    }

    toMark(direction) {
      const rows = this.markRows().map((row) => this.displayOf[row]);
      const next = direction > 0 ? rows.find((row) => row > this.selected) : rows.filter((row) => row < this.selected).pop();
      this.select(next !== undefined ? next : direction > 0 ? rows[0] : rows[rows.length - 1]);
    }

    key(event) {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW) - 2);
      const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
      if (event.key in moves) this.select(this.selected + moves[event.key]);
      else if (event.key === "Home") this.select(0);
      else if (event.key === "End") this.select(this.display.length - 1);
      else if (event.key === "Enter" && this.selected >= 0) this.unfold(this.selected);
      else if (event.key === "[" && this.marks.size) this.toMark(-1);
      else if (event.key === "]" && this.marks.size) this.toMark(1);
      else if (event.key === "a") this.showAll(!this.everything);
      else return;
      event.preventDefault();
      event.stopPropagation();
    }

    /// The selected step in full, with its source.
    tell() {
      const entry = this.display[this.selected];
      const panel = this.beside;
      panel.replaceChildren();
      if (!entry || entry.fold || isFold(this.run.rows[entry.row])) return;
      const row = this.run.rows[entry.row];
      const lane = this.run.lanes[row[LANE]];
      const head = make("p", "", "");
      head.append(make("b", "", lane[0] + (lane[1] ? " (" + lane[1] + ")" : "")), " step " + row[NUMBER] + ": " + data.strings[row[WHAT]]);
      panel.append(head);
      const held = this.run.bars.filter(([l, , , from, to]) => l === row[LANE] && from < entry.row && entry.row <= to);
      if (held.length) panel.append(make("p", "held", "holding " + held.map((bar) => data.strings[bar[1]]).join(", ")));
      if (row[PLACE]) {
        const [file, line, name] = data.places[row[PLACE]];
        panel.append(make("p", "place", (line ? data.files[file][1] + ":" + line + " in " : "") + name));
        const lines = data.source[file] || {};
        const pre = make("pre", "source");
        for (let n = line - 4; n <= line + 4; n++) {
          if (lines[n] === undefined) continue;
          const span = make("span", n === line ? "here" : "");
          span.append(make("span", "no", String(n).padStart(5)), " " + lines[n]);
          pre.append(span);
        }
        if (pre.childNodes.length) panel.append(pre);
      }
      const stack = make("ul", "stack");
      for (const frame of data.stacks[row[STACK]]) stack.append(make("li", "", "called from " + data.places[frame][2] + (data.places[frame][1] ? " at " + placeText(frame) : "")));
      if (stack.childNodes.length) panel.append(stack);
    }
  }

  // ---- Findings
  const findings = all(".finding");
  const views = new Map();
  const openViews = (finding) => {
    const id = finding.dataset.id, place = one(".views", finding);
    if (!place || views.has(id)) return;
    const packed = data.findings[id] || {};
    const beside = make("section", "beside");
    beside.setAttribute("aria-label", "The selected step");
    beside.setAttribute("aria-live", "polite");
    const made = [];
    const titles = {
      failing: "The run that did it",
      predicted: "The predicted order of the recorded steps",
      observed: packed.failing ? "The recorded run" : "The recorded run, in which it did not happen",
    };
    for (const name of ["failing", "predicted", "observed"])
      if (packed[name]) made.push(new View(id, name, titles[name], packed[name], beside));
    views.set(id, made);
    place.append(...made.map((view) => view.section), beside);
    for (const view of made) { view.measure(); view.reveal(); }
    if (made.length) made[0].tell();
  };
  for (const finding of findings) {
    finding.addEventListener("toggle", () => { if (finding.open) openViews(finding); });
    if (finding.open) openViews(finding);
  }
  for (const button of all(".copy"))
    button.addEventListener("click", () => {
      const text = one("code", button.parentElement).textContent;
      const done = () => { button.textContent = "copied"; setTimeout(() => { button.textContent = "copy"; }, 1500); };
      if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => {});
    });

  // What is shown with another finding finding and was asked for all the same.
  const asked = new Set();
  let current = -1;
  const shown = () => findings.filter((finding) => !finding.hidden);
  const goTo = (finding) => {
    for (const other of findings) other.classList.toggle("current", other === finding);
    current = findings.indexOf(finding);
    if (finding.hidden) { asked.add(finding); finding.hidden = false; }
    finding.open = true;
    openViews(finding);
    one("summary", finding).focus({ preventScroll: true });
    finding.scrollIntoView({ block: "start" });
  };
  const move = (direction) => {
    const list = shown();
    if (!list.length) return;
    const at = list.findIndex((finding) => findings.indexOf(finding) >= current);
    const here = current < 0 ? -1 : at < 0 ? list.length : findings.indexOf(list[at]) === current ? at : at - 0.5;
    const next = direction > 0 ? Math.floor(here + 1) : Math.ceil(here - 1);
    goTo(list[Math.max(0, Math.min(next, list.length - 1))]);
  };

  // ---- Filters
  const boxes = all(".filters input[type=checkbox]"), text = one("#text"), count = one("#count"), fold = one("#fold");
  const searched = new Map(findings.map((finding) => [finding, finding.textContent.toLowerCase()]));
  const filter = () => {
    const allowed = (name) => new Set(boxes.filter((box) => box.dataset[name] && box.checked).map((box) => box.dataset[name]));
    const kinds = allowed("kind"), strengths = allowed("strength");
    const words = text ? text.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
    const matched = new Set(findings.filter((finding) => kinds.has(finding.dataset.kind) && strengths.has(finding.dataset.strength) && words.every((word) => searched.get(finding).includes(word))));
    // One bug is told once: by its strongest finding, as long as that is shown.
    const byId = new Map(findings.map((finding) => [finding.dataset.id, finding]));
    const folded = (finding) => fold && fold.checked && !asked.has(finding) && matched.has(byId.get(finding.dataset.lead));
    for (const finding of findings) finding.hidden = !matched.has(finding) || folded(finding);
    const told = [...matched].filter(folded).length;
    if (count) count.textContent = matched.size + " of " + findings.length + " findings" + (told ? ", " + told + " shown with another finding" : "");
  };
  if (count) {
    for (const box of boxes) box.addEventListener("change", filter);
    text.addEventListener("input", filter);
    one(".filters").addEventListener("submit", (event) => event.preventDefault());
    filter();
  }

  for (const link of all(".also a"))
    link.addEventListener("click", (event) => {
      const finding = findings.find((other) => "#" + other.id === link.hash);
      if (!finding) return;
      event.preventDefault();
      goTo(finding);
    });

  // ---- Light and dark, help, keys
  const store = (action) => { try { return action(window.localStorage); } catch { return null; } };
  const theme = store((storage) => storage.getItem("reweave-theme"));
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  const toggleTheme = () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    store((storage) => storage.setItem("reweave-theme", root.dataset.theme));
  };
  const toggleHelp = () => {
    const keys = one("#keys");
    keys.hidden = !keys.hidden;
    one("#help").setAttribute("aria-expanded", String(!keys.hidden));
  };
  one("#theme").addEventListener("click", toggleTheme);
  one("#help").addEventListener("click", toggleHelp);
  const keys = {
    j: () => move(1),
    k: () => move(-1),
    o: () => { if (current >= 0) findings[current].open = !findings[current].open; },
    v: () => {
      const finding = findings[Math.max(0, current)];
      if (!finding) return;
      goTo(finding);
      const made = views.get(finding.dataset.id);
      if (made && made.length) { made[0].scroller.focus({ preventScroll: true }); made[0].scroller.scrollIntoView({ block: "center" }); }
    },
    "/": () => { if (text) text.focus(); },
    t: toggleTheme,
    "?": toggleHelp,
  };
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLInputElement && event.target.type === "search";
    if (typing && event.key === "Escape") { event.target.value = ""; filter(); event.target.blur(); return; }
    if (typing || event.ctrlKey || event.altKey || event.metaKey || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });

  // ---- Paper has no scrolling: what matters of each open view, in full.
  const eachView = (act) => { for (const made of views.values()) for (const view of made) act(view); };
  window.addEventListener("beforeprint", () => eachView((view) => {
    view.before = view.everything;
    view.showAll(false);
    view.render(true);
    const rows = all(".row", view.canvas);
    const top = rows.length ? parseFloat(rows[0].style.top) : 0;
    view.canvas.style.height = rows.length * ROW + "px";
    for (const node of view.canvas.children) node.style.top = parseFloat(node.style.top) - top + "px";
  }));
  window.addEventListener("afterprint", () => eachView((view) => { view.showAll(view.before); }));

  const wanted = findings.find((finding) => "#" + finding.id === window.location.hash);
  if (wanted) goTo(wanted);
})();
