// Elements from plain data. Whatever a record says becomes a text node, never markup.
const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};
const data = JSON.parse(document.getElementById("data").textContent);

const unpacked = async (packed) => {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
};
// The sections of all runs are most of the page: unpacked once, when the first run is opened.
let unpacking = null;
const tellRuns = () => {
  unpacking ??= unpacked(data.told).then((sections) => Object.assign(data, sections));
  return unpacking;
};

const copyButton = (text) => {
  const button = element("button", { type: "button", className: "copy", textContent: "Copy" });
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without permission: by way of a selection.
      const field = element("textarea", { value: text });
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
      button.focus();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return button;
};

const tableOf = (part) => {
  const cells = (texts, name) => texts.map((text) => element(name, {}, text));
  const head = element("thead", {}, element("tr", {}, ...cells(part.head, "th")));
  head.querySelectorAll("th").forEach((cell) => { cell.scope = "col"; });
  const body = element("tbody", {}, ...part.rows.map((row) => element("tr", {}, ...cells(row, "td"))));
  const box = element("div", { className: "scroll", tabIndex: 0 }, element("table", {}, head, body));
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", part.caption);
  return [element("p", {}, part.caption), box];
};

const parts = {
  pairs: (part) => [element("dl", { className: "facts" },
    ...part.rows.map((place) => data.pairs[place]).flatMap(([label, text]) => [element("dt", {}, label), element("dd", {}, text)]))],
  list: (part) => [element("ul", {}, ...part.items.map((item) => element("li", {}, item)))],
  table: tableOf,
  code: (part) => {
    const block = element("pre", { tabIndex: 0 }, part.text);
    return part.copy ? [block, copyButton(part.text)] : [block];
  },
  samples: (part) => samplesOf(part),
};

const folded = (title, children) => element("details", {}, element("summary", {}, title), ...children);

const sectionOf = ({ title, parts: list }) => element("section", {}, element("h3", {}, title),
  ...list.filter((part) => part.kind !== "pairs" || part.rows.length).flatMap((part) => {
    const made = parts[part.kind](part);
    return part.fold ? [folded(part.fold, made)] : made;
  }));
