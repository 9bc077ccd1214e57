// One sample: what was asked, what came back, what was seen when it ran, and why it was judged so.

function samplePane(details, task, runIndex, row, showRun) {
  const run = index.runs[runIndex];
  const outcome = outcomeNamed[row.outcome === "fail" ? row.label ?? "unlabelled" : row.outcome];
  const head = element(
    "p", { class: "pane-title" },
    showRun && element("span", { class: "name" }, visible(run.name, false)),
    element("span", { class: `badge o-${outcome.name}` }, outcome.name),
    row.integrity && element("span", { class: "tag", title: row.integrity === "strong" ? "The verdict is proved" : "The verdict is not proved" }, row.integrity),
    row.sample > 0 && element("span", { class: "tag" }, `sample ${row.sample}`),
    row.overlap !== null && row.overlap !== undefined && element("span", { class: "tag", title: "Token overlap of the reference with a shown example" }, `overlap ${row.overlap.toFixed(2)}`),
  );
  const left = element("div", {}, answerSection(details, task, runIndex, row), promptSection(details, task, runIndex, row));
  const right = element("div", {}, inputSection(row), errorSection(row), callSection(row), stubSection(row), outputSection(row), costSection(row));
  return element("section", { "aria-label": run.name }, head, element("p", { class: "why" }, visible(row.reason, false)), element("div", { class: "split" }, left, right));
}

function answerSection(details, task, runIndex, row) {
  const position = details.answers[task.id]?.[runIndex]?.[row.sample];
  const raw = position === undefined ? null : details.texts[position];
  const evidence = row.evidence ?? {};
  const ran = typeof evidence.code === "string" && evidence.code !== "" ? evidence.code : null;
  const { calls, errors } = marksOf(row);
  return [
    ran !== null && [element("h3", {}, "The code that ran"), codeBlock(ran, calls, errors)],
    raw === null
      ? element("p", { class: "note" }, "The text of this answer is not in predictions.jsonl of the run.")
      : element("details", { open: ran === null }, element("summary", {}, "The whole answer"), element("pre", { class: "text", tabindex: 0 }, visible(raw))),
  ];
}

/** Lines of the answer on which the target was called, and those on which something was raised. */
function marksOf(row) {
  const calls = new Set();
  const errors = new Map();
  for (const call of row.calls ?? []) if (call.line && call.origin === "completion") calls.add(call.line);
  const evidence = row.evidence ?? {};
  for (const error of [evidence.error, ...(evidence.inputs ?? []).map((input) => input.error)]) {
    if (!error || row.outcome !== "fail") continue;
    const line = error.position?.[0] ?? (error.frames ?? []).findLast((frame) => frame.where === "completion")?.line;
    if (line && !errors.has(line)) errors.set(line, described(error));
  }
  return { calls, errors };
}

const described = (error) => [String(error.type ?? "").replace(/^builtins\./, ""), error.message].filter(Boolean).join(": ");

function promptSection(details, task, runIndex, row) {
  const base = index.runs[runIndex].base;
  const paragraphs = promptParagraphs(details, row, base === null ? null : details.byKey.get(`${base} 0 ${task.id}`));
  const record = details.tasks[task.id];
  const parts = [];
  if (paragraphs) {
    const shown = paragraphs.filter((paragraph) => paragraph.isKnowledge);
    if (shown.length) parts.push(element("h3", {}, "Knowledge shown"), element("pre", { class: "text knowledge", tabindex: 0 }, visible(shown.map((p) => p.text).join("\n\n"))));
    parts.push(element("details", {}, element("summary", {}, "The whole prompt"), element("pre", { class: "text", tabindex: 0 }, visible(paragraphs.map((p) => p.text).join("\n\n")))));
  }
  return [parts, taskSection(record)];
}

function taskSection(record) {
  const inputs = record.inputs.map((input, position) => {
    const values = [...input.args, ...Object.entries(input.kwargs ?? {}).map(([name, value]) => `${name}=${value}`)];
    const expected = record.expected ? `\n→ ${JSON.stringify(record.expected[position])}` : "";
    return [element("dt", {}, input.hidden ? `input ${position}, hidden` : `input ${position}`), element("dd", {}, visible(`(${values.join(", ")})${expected}`))];
  });
  return element(
    "details", {}, element("summary", {}, "The task and its reference"),
    element("p", {}, visible(record.description)),
    record.context_code && codeBlock(record.context_code),
    codeBlock(record.reference_solution),
    element("dl", { class: "pairs" }, inputs),
    record.test_code && codeBlock(record.test_code),
  );
}

function inputSection(row) {
  const inputs = row.evidence?.inputs ?? [];
  if (!inputs.length) return null;
  const cards = inputs.map((input) =>
    element(
      "div", { class: "card" },
      element("p", {}, element("b", {}, `Input ${input.index}: `), input.equal ? "as expected" : visible(input.error ? `raised ${described(input.error)}` : input.difference || "not as expected")),
      element("dl", { class: "pairs" }, !input.equal && pair("expected", input.expected), pair(input.equal ? "answer" : "got", input.answer)),
      input.error && errorFrames(input.error),
    ),
  );
  return [element("h3", {}, "What happened"), cards];
}

const pair = (name, value) => (value ? [element("dt", {}, name), element("dd", {}, visible(value))] : null);

function errorSection(row) {
  const error = row.evidence?.error;
  if (!error) return null;
  return [
    element("h3", {}, "What ended it"),
    element("div", { class: "card" }, element("p", {}, visible(described(error))), errorFrames(error)),
  ];
}

function errorFrames(error) {
  const facts = [
    error.name && `name ${error.name}`,
    error.owner && `on ${error.owner_kind ?? ""} ${error.owner}`,
    error.context && `while handling ${error.context}`,
  ].filter(Boolean);
  const frames = (error.frames ?? []).map((frame) =>
    element("li", { class: frame.target ? "target" : null }, element("span", { class: "where" }, `${frame.where} `), visible(`${frame.where === "completion" ? "" : `${frame.module}.`}${frame.function}, line ${frame.line}`), frame.target && " (the target)"),
  );
  return [facts.length > 0 && element("p", { class: "note" }, visible(facts.join(", "), false)), frames.length > 0 && element("ol", { class: "frames", "aria-label": "Traceback" }, frames)];
}

function callSection(row) {
  const calls = row.calls ?? [];
  const title = element("h3", {}, "Calls of the target");
  if (!calls.length) return [title, element("p", { class: "note" }, "None.")];
  const cards = calls.map((call) => {
    const values = Object.entries(call.arguments ?? {}).map(([name, value]) => (/^\d+$/.test(name) ? value : `${name}=${value}`));
    const unmet = Object.entries(call.required ?? {}).filter(([, isMet]) => !isMet).map(([name]) => name);
    const facts = [
      call.line ? `line ${call.line}` : null,
      call.origin === "library" ? "made by the library itself" : null,
      call.input === null ? "while loading" : `input ${call.input}`,
      call.where === "remote" ? "in a separate process" : "in process",
      call.bound ? null : "did not fit the signature",
      unmet.length ? `required but not bound: ${unmet.join(", ")}` : null,
    ].filter(Boolean);
    return element(
      "div", { class: "card" },
      element("dl", { class: "pairs" }, pair("call", `${call.api}(${values.join(", ")})`), pair("gave", call.returned ? call.result : ""), call.error && pair("raised", described(call.error))),
      element("p", { class: "note" }, visible(facts.join(" · "), false)),
    );
  });
  return [title, cards];
}

function stubSection(row) {
  const stubs = row.evidence?.stubs ?? [];
  if (!stubs.length) return null;
  const lines = stubs.map((stub) => element("div", { class: "card" }, element("p", {}, visible(`With the target's result replaced (${stub.stub}) the answer ${stub.changed ? "changes" : "stays the same"}.`, false)), element("dl", { class: "pairs" }, pair("answer", stub.answer))));
  return [element("h3", {}, "Does the result flow from the API?"), lines];
}

function outputSection(row) {
  const { stdout, flags, ended, infra } = row.evidence ?? {};
  return [
    stdout && [element("h3", {}, "Printed"), element("pre", { class: "text", tabindex: 0 }, visible(stdout))],
    (ended || infra || flags?.length > 0) && [element("h3", {}, "Remarks"), element("p", { class: "note" }, visible([ended && `ended by ${ended}`, infra && `fault of the machine: ${infra}`, ...(flags ?? [])].filter(Boolean).join(" · "), false))],
  ];
}

function costSection(row) {
  const facts = [`${row.cpu_ms ?? 0} ms CPU`, `${row.wall_ms ?? 0} ms elapsed`, `${Math.round((row.peak_kb ?? 0) / 1024)} MB at most`, row.executor, row.env].filter(Boolean);
  return [element("h3", {}, "Execution"), element("p", { class: "note" }, visible(facts.join(" · "), false))];
}
