// Theme and flows, then the rest.

function startTheme() {
  const button = byId("theme");
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (prefersDark.matches ? "dark" : "light")) === "dark";
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; button.setAttribute("aria-label", `Switch to the ${isDark() ? "light" : "dark"} theme`); };
  button.addEventListener("click", () => { document.documentElement.dataset.theme = isDark() ? "light" : "dark"; label(); });
  prefersDark.addEventListener("change", label);
  button.hidden = false;
  label();
}

function startFlows() {
  const choice = byId("flow-choice");
  if (!choice) return;
  const boxes = [...document.querySelectorAll("[data-flow]")];
  const show = (chosen) => boxes.forEach((box) => { box.hidden = box.dataset.flow !== chosen; box.open = true; box.querySelector("summary").hidden = true; });
  byId("flow-select").addEventListener("change", (event) => show(event.target.value));
  choice.hidden = false;
  show("0");
}

startTheme();
startFlows();
startExplorer();
startViewer();
