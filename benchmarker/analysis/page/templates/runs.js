// The table of runs: sorted by its headings, filtered by words and choices.
const table = (() => {
  const body = document.querySelector("#table tbody");
  const head = document.querySelector("#table thead");
  const headings = [...head.querySelectorAll("th")];
  const rows = [...body.rows];
  const form = document.getElementById("filters");
  const words = document.getElementById("words");
  const choices = [...form.querySelectorAll("select")];
  const listeners = [];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const places = new Map(rows.map((row, place) => [row, place]));
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const [AT_ONCE, MORE] = [60, 250];
  let order = rows;
  let waiting = [];

  const keys = (column, byValue) => rows.map((row) => {
    const cell = row.cells[column];
    if (!byValue) return cell.textContent.trim();
    return cell.dataset.v === undefined ? null : Number(cell.dataset.v);
  });

  // To lay out a thousand rows takes longer than a reader waits for a click: the first are shown at once, which
  // are more than fit in the box, the others soon after.
  const showMore = (count) => {
    waiting.splice(0, count).forEach((row) => row.classList.remove("later"));
    if (waiting.length) setTimeout(showMore, 30, MORE);
  };
  const arrange = () => {
    const started = waiting.length > 0;
    waiting = order.filter((row) => !row.hidden).slice(AT_ONCE);
    rows.forEach((row) => row.classList.remove("later"));
    waiting.forEach((row) => row.classList.add("later"));
    if (!started && waiting.length) setTimeout(showMore, 30, MORE);
  };
  const missing = (key) => key === null || key === "";

  const sort = (column, descending) => {
    const byValue = "byValue" in headings[column].dataset;
    const key = keys(column, byValue);
    const sign = descending ? -1 : 1;
    const compare = (a, b) => {
      const [left, right] = [key[places.get(a)], key[places.get(b)]];
      // What is not known comes last in both directions.
      if (missing(left) || missing(right)) return missing(left) - missing(right);
      return sign * (byValue ? left - right : collator.compare(left, right));
    };
    order = [...rows].sort(compare);
    // Taken out all at once: moved one by one, rows that are laid out take most of a second.
    body.remove();
    body.replaceChildren();
    arrange();
    body.append(...order);
    head.after(body);
    headings.forEach((heading) => heading.removeAttribute("aria-sort"));
    headings[column].setAttribute("aria-sort", descending ? "descending" : "ascending");
  };

  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = choices.filter((choice) => choice.value !== "");
    const fitting = rows.map((row, place) => wanted.every((word) => texts[place].includes(word))
      && chosen.every((choice) => row.dataset[choice.dataset.choice] === choice.value));
    rows.forEach((row, place) => { row.hidden = !fitting[place]; });
    arrange();
    listeners.forEach((listener) => listener(fitting));
  };

  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.replaceChildren(button);
    button.addEventListener("click", () => sort(column, heading.getAttribute("aria-sort") === "ascending"));
  });

  // What is chosen lives in the address, so that a link shows what its sender saw; the fragment names a run.
  const fields = [words, ...choices];
  const nameOf = (field) => field.dataset.choice || "contains";
  const remember = () => {
    const found = new URLSearchParams(fields.filter((field) => field.value !== "").map((field) => [nameOf(field), field.value]));
    const query = found.size ? `?${found}` : location.pathname;
    // A browser may refuse to change the address of a local file.
    try { history.replaceState(null, "", query + location.hash); } catch { /* then it is not kept */ }
  };
  const recall = () => {
    const found = new URLSearchParams(location.search);
    fields.forEach((field) => {
      const value = found.get(nameOf(field)) || "";
      if (field === words || [...field.options].some((option) => option.value === value)) field.value = value;
    });
    return found.size > 0;
  };
  form.hidden = false;
  form.addEventListener("input", () => { filter(); remember(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    // The browser itself would clear the fields only after this.
    event.preventDefault();
    fields.forEach((field) => { field.value = ""; });
    filter();
    remember();
  });
  const box = document.getElementById("filter-box");
  const isNarrow = matchMedia("(max-width: 40rem)").matches;

  return {
    onFilter: (listener) => listeners.push(listener),
    start: () => {
      const isFiltered = recall();
      box.open = !isNarrow;
      if (isFiltered) filter();
      else listeners.forEach((listener) => listener(rows.map(() => true)));
    },
    showAll: () => showMore(Infinity),
    visible: () => order.filter((row) => !row.hidden).map((row) => places.get(row)),
    mark: (place) => rows.forEach((row, each) => {
      if (each === place) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }),
    link: (place) => rows[place].querySelector("a"),
  };
})();
