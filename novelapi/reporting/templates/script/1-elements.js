// Everything foreign reaches the page as text nodes; nothing is ever parsed as HTML.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u;

/** Returns a text with every invisible character replaced by a frame that names it. */
function visible(text, block = true) {
  const parts = [];
  let plain = "";
  for (const character of String(text ?? "")) {
    if (!HIDDEN.test(character) || (block && (character === "\n" || character === "\t"))) {
      plain += character;
      continue;
    }
    const code = character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    if (plain) parts.push(plain);
    plain = "";
    parts.push(element("span", { class: "hidden-character" }, `U+${code}`));
  }
  if (plain) parts.push(plain);
  return parts;
}

/** Creates an element; attributes that are null or false are left out, functions become listeners. */
function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(key, value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const byId = (id) => document.getElementById(id);

function options(select, entries, chosen) {
  select.replaceChildren(...entries.map(([value, text]) => element("option", { value, selected: value === chosen }, visible(text, false))));
}
