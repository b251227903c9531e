// One run: opened by a link or by the address, closed by Esc.
const run = (() => {
  const places = new Map(data.runs.map((one, place) => [one.key, place]));
  const section = document.getElementById("run");
  const title = document.getElementById("run-title");
  const body = document.getElementById("run-body");
  const [previous, next, close] = ["previous", "next", "close"].map((id) => document.getElementById(id));
  let open = null;

  const wholeRecord = (place) => {
    const { file } = data.runs[place];
    const where = file ? [element("p", {}, `File: ${file}`)] : [];
    const holder = element("section", {}, element("h3", {}, "The record"), ...where);
    if (!data.whole) {
      holder.append(element("p", { className: "quiet" }, "There are too many runs to hold their records here."));
      return holder;
    }
    const details = folded("as JSON", []);
    details.addEventListener("toggle", async () => {
      if (details.childElementCount > 1) return;
      const block = element("pre", { tabIndex: 0 });
      details.append(block);
      block.textContent = JSON.stringify(await unpacked(data.whole[place]), null, 1);
    });
    holder.append(details);
    return holder;
  };

  const neighbours = () => {
    const visible = table.visible();
    const at = visible.indexOf(open);
    return [at > 0 ? visible[at - 1] : undefined, at >= 0 ? visible[at + 1] : undefined];
  };
  const show = (place) => {
    open = place;
    const one = data.runs[place];
    title.textContent = one.title;
    body.replaceChildren();
    tellRuns().then(() => {
      // Another run may have been opened meanwhile.
      if (open !== place) return;
      body.replaceChildren(...one.sections.map((index) => sectionOf(data.sections[index])), wholeRecord(place));
    });
    section.hidden = false;
    table.mark(place);
    const [before, after] = neighbours();
    previous.disabled = before === undefined;
    next.disabled = after === undefined;
    section.scrollIntoView();
    title.focus({ preventScroll: true });
  };
  const hide = () => {
    if (open === null) return;
    const link = table.link(open);
    open = null;
    section.hidden = true;
    body.replaceChildren();
    table.mark(null);
    if (link.offsetParent) link.focus();
    else document.getElementById("runs").focus();
  };

  const key = () => {
    // An address may hold what is no escape.
    try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; }
  };
  const follow = () => {
    const place = places.get(key());
    if (place !== undefined) show(place);
    else hide();
  };
  const go = (place) => {
    if (place !== undefined) location.hash = encodeURIComponent(data.runs[place].key);
  };
  const leave = () => {
    if (open === null) return;
    history.pushState(null, "", "#runs");
    hide();
  };

  previous.addEventListener("click", () => go(neighbours()[0]));
  next.addEventListener("click", () => go(neighbours()[1]));
  close.addEventListener("click", leave);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented) leave();
  });
  addEventListener("hashchange", follow);
  addEventListener("popstate", follow);
  return { follow };
})();
