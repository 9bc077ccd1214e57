// The table of APIs: search, filters, sorting, and the tasks below an opened row.

const PAGE = 60;
const table = byId("api-table");
const body = table.tBodies[0];
const entries = [...body.rows].map((row) => ({ row, api: Number(row.dataset.api), text: searchText(Number(row.dataset.api)), change: row.cells[1].textContent }));
const state = { group: 0, limit: PAGE };

function searchText(api) {
  return [index.apis[api], ...tasksOfApi[api].map((task) => task.id)].join(" ").toLowerCase();
}

function upgradeRows() {
  table.querySelector(".strip-head").hidden = false;
  for (const entry of entries) {
    const button = element("button", { class: "api", type: "button", "aria-expanded": "false", click: () => toggle(entry) }, visible(index.apis[entry.api], false));
    entry.row.cells[0].replaceChildren(button);
    entry.button = button;
    entry.strip = element("td", { class: "strip-cell" });
    entry.row.cells[2].after(entry.strip);
  }
}

/** Draws the strip of a row when the row is first seen. */
function drawStrip(entry) {
  if (entry.drawn === state.group) return;
  entry.drawn = state.group;
  const cells = index.groups[state.group].runs.map((run) => {
    const letters = tasksOfApi[entry.api].map((task) => task.letters[run]).filter((letter) => letter !== "-" && letter !== "?");
    const passed = letters.filter((letter) => letter === "P").length;
    const title = letters.length ? `${index.runs[run].short}: ${passed} of ${letters.length}` : `${index.runs[run].short}: not scored`;
    return { title, node: element("i", { class: letters.length ? null : "none", style: letters.length ? `--p:${Math.round((100 * passed) / letters.length)}%` : null, title }) };
  });
  entry.strip.replaceChildren(element("div", { class: "strip", role: "img", "aria-label": cells.map((cell) => cell.title).join("; ") }, cells.map((cell) => cell.node)));
}

function toggle(entry) {
  const isOpen = entry.details?.isConnected;
  entry.button.setAttribute("aria-expanded", String(!isOpen));
  if (isOpen) entry.details.remove();
  else {
    entry.details = element("tr", { class: "opened" }, element("td", { colspan: entry.row.cells.length, class: "tasks" }, tasksOfApi[entry.api].map(taskBlock)));
    entry.row.after(entry.details);
  }
}

function taskBlock(task) {
  const chips = index.groups[state.group].runs.map((run) => {
    const outcome = outcomeOf[task.letters[run]];
    const label = `${index.runs[run].name}: ${outcome.name}`;
    const chip = element("button", { class: `chip o-${outcome.name}`, type: "button", title: label, "aria-label": `${task.id}, ${label}`, disabled: outcome.name === "missing", click: (event) => openSample(task, run, 0, event.currentTarget) }, outcome.code);
    return element("div", { class: "chip-cell" }, chip, visible(index.runs[run].short, false));
  });
  return element("div", {}, element("p", { class: "task-title" }, element("code", {}, visible(task.id, false)), element("span", { class: "tags" }, ` · ${task.difficulty}`)), element("div", { class: "chips" }, chips));
}

function applyFilters() {
  const text = byId("filter-text").value.trim().toLowerCase();
  const change = byId("filter-change").value;
  const letter = byId("filter-outcome").value;
  const run = byId("filter-run").value;
  const runs = run === "" ? index.groups[state.group].runs : [Number(run)];
  let matching = 0;
  let samples = 0;
  for (const entry of entries) {
    const hits = letter === "" ? 0 : tasksOfApi[entry.api].reduce((sum, task) => sum + runs.filter((position) => task.letters[position] === letter).length, 0);
    const matches = entry.text.includes(text) && (change === "" || entry.change === change) && (letter === "" || hits > 0);
    if (matches) { matching += 1; samples += hits; }
    const isShown = matches && matching <= state.limit;
    entry.row.hidden = !isShown;
    if (!isShown && entry.details?.isConnected) { entry.details.remove(); entry.button.setAttribute("aria-expanded", "false"); }
    if (isShown) drawStrip(entry);
  }
  const found = matching === entries.length ? `${entries.length} APIs` : `${matching} of ${entries.length} APIs`;
  byId("count").textContent = letter === "" ? found : `${found}, ${samples} ${samples === 1 ? "sample" : "samples"} with ${outcomeOf[letter].name}`;
  byId("more").hidden = matching <= state.limit;
  byId("more").textContent = `Show ${Math.min(PAGE, matching - state.limit)} more`;
}

function sortBy(header) {
  const column = [...header.parentNode.cells].indexOf(header);
  const isNumber = header.dataset.sort === "number";
  const isDown = header.getAttribute("aria-sort") === (isNumber ? "descending" : "ascending");
  const direction = isNumber === isDown ? "ascending" : "descending";
  for (const other of header.parentNode.cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", direction);
  const value = (entry) => { const cell = entry.row.cells[column]; return isNumber ? Number(cell.dataset.value ?? cell.textContent) : cell.textContent; };
  const sign = direction === "ascending" ? 1 : -1;
  entries.sort((a, b) => { const [x, y] = [value(a), value(b)]; return (x < y ? -sign : x > y ? sign : 0) || a.api - b.api; });
  for (const entry of entries) { entry.details?.remove(); entry.button.setAttribute("aria-expanded", "false"); body.append(entry.row); }
  applyFilters();
}

function startExplorer() {
  upgradeRows();
  const seen = new Set(tasks.flatMap((task) => [...task.letters]));
  options(byId("filter-outcome"), [["", "any"], ...index.outcomes.filter((outcome) => seen.has(outcome.letter)).map((outcome) => [outcome.letter, outcome.name])], "");
  const drawRuns = () => options(byId("filter-run"), [["", "any run"], ...index.groups[state.group].runs.map((run) => [String(run), index.runs[run].short])], "");
  drawRuns();
  if (index.groups.length > 1) {
    options(byId("filter-group"), index.groups.map((group, position) => [String(position), group.title || "all runs"]), "0");
    byId("group-choice").hidden = false;
    byId("filter-group").addEventListener("change", (event) => {
      state.group = Number(event.target.value);
      for (const entry of entries) if (entry.details?.isConnected) toggle(entry);
      drawRuns();
      applyFilters();
    });
  }
  for (const header of table.tHead.rows[0].cells) {
    if (!header.dataset.sort) continue;
    header.replaceChildren(element("button", { type: "button", click: () => sortBy(header) }, header.textContent));
  }
  const refresh = () => { state.limit = PAGE; applyFilters(); };
  byId("filter-text").addEventListener("input", refresh);
  for (const id of ["filter-change", "filter-outcome", "filter-run"]) byId(id).addEventListener("change", refresh);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("more").addEventListener("click", () => { state.limit += PAGE; applyFilters(); });
  byId("filters").hidden = false;
  applyFilters();
}
