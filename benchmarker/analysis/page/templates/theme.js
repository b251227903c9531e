// Light or dark: as the system says, until the reader chooses.
const theme = (() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const listeners = [];
  let forced = null;

  const stored = () => {
    // A browser may refuse storage to a local file.
    try { return localStorage.getItem("benchmarker-theme"); } catch { return null; }
  };
  const store = (name) => {
    try { localStorage.setItem("benchmarker-theme", name); } catch { /* then it is forgotten */ }
  };
  let chosen = ["light", "dark"].includes(stored()) ? stored() : null;
  const name = () => forced || chosen || (system.matches ? "dark" : "light");

  const show = () => {
    root.dataset.theme = name();
    button.textContent = name() === "dark" ? "Light theme" : "Dark theme";
    listeners.forEach((listener) => listener(name()));
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    chosen = name() === "dark" ? "light" : "dark";
    store(chosen);
    show();
  });
  system.addEventListener("change", show);
  show();

  return {
    name,
    onChange: (listener) => listeners.push(listener),
    force: (what) => { forced = what; show(); },
    colour: (property) => getComputedStyle(root).getPropertyValue(`--${property}`).trim(),
  };
})();
