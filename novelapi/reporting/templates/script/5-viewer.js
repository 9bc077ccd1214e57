// The window that shows one sample, or two beside each other. Its address names the sample, so it can be shared.

const viewer = byId("viewer");
const shown = { task: null, run: 0, other: null, sample: 0, opener: null };

function openSample(task, run, sample = 0, opener = document.activeElement) {
  Object.assign(shown, { task, run, sample, other: null, opener });
  if (!viewer.open) viewer.showModal();
  drawSample();
}

async function drawSample() {
  const { task, run, other, sample } = shown;
  history.replaceState(null, "", `#sample=${[task.id, index.runs[run].name, sample].map(encodeURIComponent).join("/")}`);
  byId("viewer-title").replaceChildren(...visible(task.id, false));
  options(byId("viewer-run"), index.runs.map((entry, position) => [String(position), entry.name]), String(run));
  options(byId("viewer-other"), [["", "compare with …"], ...index.runs.map((entry, position) => [String(position), entry.name]).filter(([position]) => Number(position) !== run)], other === null ? "" : String(other));
  const body = byId("viewer-body");
  body.replaceChildren(element("p", { class: "loading" }, "Unpacking …"));
  const details = await openPackage(task.api);
  if (shown.task !== task || shown.run !== run || shown.other !== other) return;
  if (!details) {
    body.replaceChildren(element("p", { class: "loading" }, "The details of this API are not in this page; they are in results.jsonl of the run."));
    return;
  }
  const panes = [run, other].filter((position) => position !== null).map((position) => pane(details, task, position, other !== null));
  body.replaceChildren(element("div", { class: other === null ? "panes" : "panes two" }, panes));
  body.scrollTop = 0;
  body.focus({ preventScroll: true });
}

function pane(details, task, run, showRun) {
  const rows = details.samples.filter((entry) => entry.run === run && entry.row.task_id === task.id).map((entry) => entry.row);
  const row = rows.find((entry) => entry.sample === shown.sample) ?? rows[0];
  if (!row) return element("section", {}, element("p", { class: "loading" }, visible(`${index.runs[run].name} has no row for this task.`)));
  const choices = rows.length > 1 && element("div", { class: "chips", role: "group", "aria-label": "Samples" }, rows.map((entry) => sampleChip(entry, entry === row)));
  return element("div", {}, choices, samplePane(details, task, run, row, showRun));
}

function sampleChip(row, isCurrent) {
  const outcome = outcomeNamed[row.outcome === "fail" ? row.label ?? "unlabelled" : row.outcome];
  const choose = () => { shown.sample = row.sample; drawSample(); };
  return element("button", { class: `chip o-${outcome.name}`, type: "button", "aria-pressed": String(isCurrent), "aria-label": `Sample ${row.sample}: ${outcome.name}`, click: choose }, `${row.sample} ${outcome.code}`);
}

function stepRun(step) {
  const runs = index.runs.map((_, position) => position).filter((position) => shown.task.letters[position] !== "-");
  const next = runs[(runs.indexOf(shown.run) + step + runs.length) % runs.length];
  if (next === undefined) return;
  Object.assign(shown, { run: next, other: shown.other === next ? null : shown.other });
  drawSample();
}

function openFromAddress() {
  const match = location.hash.match(/^#sample=(.+)$/);
  if (!match) return;
  const [id, name, sample] = match[1].split("/").map(decodeURIComponent);
  const task = taskById.get(id);
  const run = index.runs.findIndex((entry) => entry.name === name);
  if (task && run >= 0) openSample(task, run, Number(sample) || 0);
}

function startViewer() {
  byId("viewer-close").addEventListener("click", () => viewer.close());
  byId("viewer-previous").addEventListener("click", () => stepRun(-1));
  byId("viewer-next").addEventListener("click", () => stepRun(1));
  byId("viewer-run").addEventListener("change", (event) => { Object.assign(shown, { run: Number(event.target.value), other: null }); drawSample(); });
  byId("viewer-other").addEventListener("change", (event) => { shown.other = event.target.value === "" ? null : Number(event.target.value); drawSample(); });
  viewer.addEventListener("click", (event) => { if (event.target === viewer) viewer.close(); });
  viewer.addEventListener("keydown", (event) => {
    if (event.target.closest("select, input, pre")) return;
    if (event.key === "ArrowRight") stepRun(1);
    if (event.key === "ArrowLeft") stepRun(-1);
  });
  viewer.addEventListener("close", () => {
    history.replaceState(null, "", location.pathname + location.search);
    shown.opener?.focus?.();
  });
  window.addEventListener("hashchange", openFromAddress);
  openFromAddress();
}
