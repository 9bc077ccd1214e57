// Python, coloured line by line, with the target's calls and the failing line marked.

const KEYWORDS = "False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield";
const TOKEN = new RegExp(
  [
    String.raw`(?<comment>#[^\n]*)`,
    String.raw`(?<string>\b(?:[rbfu]|rb|br|fr|rf)?(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?)|(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?))`,
    String.raw`(?<keyword>\b(?:${KEYWORDS})\b)`,
    String.raw`(?<number>\b\d[\w.]*)`,
    String.raw`(?<decorator>(?<=^|\n)\s*@[\w.]+)`,
    String.raw`(?<call>\b[A-Za-z_]\w*(?=\s*\())`,
  ].join("|"),
  "g",
);

function tokens(source) {
  const found = [];
  let end = 0;
  for (const match of source.matchAll(TOKEN)) {
    if (!match[0]) continue;
    if (match.index > end) found.push([null, source.slice(end, match.index)]);
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    found.push([kind, match[0]]);
    end = match.index + match[0].length;
  }
  if (end < source.length) found.push([null, source.slice(end)]);
  return found;
}

/** Renders code; `calls` are line numbers, `errors` maps line numbers to a remark. */
function codeBlock(source, calls = new Set(), errors = new Map()) {
  const lines = [[]];
  for (const [kind, text] of tokens(source.replace(/\n$/, ""))) {
    text.split("\n").forEach((part, position) => {
      if (position > 0) lines.push([]);
      if (part) lines.at(-1).push(kind ? element("span", { class: `t-${kind}` }, visible(part)) : visible(part));
    });
  }
  const code = element("code", {});
  lines.forEach((parts, position) => {
    const number = position + 1;
    const kind = errors.has(number) ? " error" : calls.has(number) ? " call" : "";
    code.append(element("span", { class: `line${kind}`, "data-line": number }, parts));
    if (errors.has(number)) code.append(element("span", { class: "remark" }, visible(errors.get(number))));
  });
  return element("pre", { class: "code", tabindex: 0 }, code);
}
