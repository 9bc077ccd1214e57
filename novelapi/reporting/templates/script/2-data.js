// The table of contents is plain JSON; details of an API are unpacked when they are first looked at.

const index = JSON.parse(byId("index").textContent);
const outcomeOf = Object.fromEntries(index.outcomes.map((outcome) => [outcome.letter, outcome]));
const outcomeNamed = Object.fromEntries(index.outcomes.map((outcome) => [outcome.name, outcome]));
const tasks = index.tasks.map(([id, api, difficulty, letters]) => ({ id, api, difficulty, letters }));
const taskById = new Map(tasks.map((task) => [task.id, task]));
const tasksOfApi = index.apis.map(() => []);
for (const task of tasks) tasksOfApi[task.api].push(task);

const opened = new Map();

/** Unpacks the details of an API; null when the page does not hold them. */
function openPackage(api) {
  if (!opened.has(api)) opened.set(api, unpack(document.querySelector(`script[data-package="${api}"]`)));
  return opened.get(api);
}

async function unpack(node) {
  if (!node) return null;
  const bytes = Uint8Array.from(atob(node.textContent.trim()), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const details = JSON.parse(await new Response(stream).text());
  details.byKey = new Map(details.samples.map(({ run, row }) => [`${run} ${row.sample} ${row.task_id}`, row]));
  return details;
}

/** Returns the paragraphs of a prompt, each marked when the prompt without knowledge does not have it. */
function promptParagraphs(details, row, base) {
  const own = details.prompts[row.prompt];
  if (!own) return null;
  const plain = new Set(base && details.prompts[base.prompt] ? details.prompts[base.prompt] : []);
  return own.map((position) => ({ text: details.paragraphs[position], isKnowledge: plain.size > 0 && !plain.has(position) }));
}
