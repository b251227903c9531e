// Pictures: drawn by plotly.js when they come into view, in the colours of the theme.
const pictures = (() => {
  const drawn = new Map();
  let paper = false;
  const settings = {
    responsive: true, displaylogo: false, showSendToCloud: false, scrollZoom: false,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
  };

  const plotly = () => {
    if (!window.Plotly) {
      // Its code is run only when it is needed: to read it takes a while.
      const code = document.getElementById("plotly");
      document.head.append(element("script", { textContent: code.textContent }));
      code.remove();
    }
    return window.Plotly;
  };

  const named = (name) => {
    const place = Number.parseInt(name, 10);
    if (name === "none") return "rgba(0,0,0,0)";
    if (Number.isNaN(place)) return theme.colour(name);
    const palette = data.palette[theme.name()];
    return palette[place % palette.length];
  };
  const colour = (value) => {
    const [name, share] = value.slice(1).split("/");
    if (!share) return named(name);
    const hex = named(name).slice(1);
    return `rgba(${[0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join(",")},${share})`;
  };
  // Only members that are colours are looked at: elsewhere an @ is text.
  const themed = (value, key = "") => {
    if (typeof value === "string") return key.endsWith("color") && value.startsWith("@") ? colour(value) : value;
    if (Array.isArray(value)) return value.map((item) => (typeof item === "object" ? themed(item) : item));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, themed(member, name)]));
  };

  // The page is not yet laid out for paper when it is drawn for it: A4 or Letter, landscape.
  const widthOnPaper = (holder) => (holder.closest(".panels")?.childElementCount > 1 ? 470 : 960);
  // Names side by side on a wide panel lean on one that is too narrow for them.
  const leaning = (axis, width) => {
    const names = axis?.tickangle === 0 ? axis.ticktext || [] : [];
    const longest = Math.max(0, ...names.flatMap((name) => name.split("<br>").map((line) => line.length)));
    return names.length * longest * 6.2 > width - 62 ? { ...axis, tickangle: -40 } : axis;
  };
  const widthOf = (holder) => (paper ? widthOnPaper(holder) : holder.clientWidth);
  const layout = (given, holder) => ({
    ...themed({ ...given, xaxis: leaning(given.xaxis, widthOf(holder)) }),
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: theme.colour("ink"), size: 12.5, family: "system-ui, Liberation Sans, DejaVu Sans, sans-serif" },
    hoverlabel: { bgcolor: theme.colour("raised"), bordercolor: theme.colour("line"), font: { color: theme.colour("ink") } },
    modebar: { color: theme.colour("quiet"), activecolor: theme.colour("ink"), bgcolor: "rgba(0,0,0,0)" },
    margin: { l: 50, r: 12, t: 34, b: 40 }, // what is on top is for the bar of tools
    width: widthOf(holder),
    dragmode: "zoom",
  });
  // What of a figure the filters leave: values whose runs fit, of a table its rows; a panel with nothing left is hidden.
  let fitting = null;
  const fits = (places) => places.some((place) => fitting[place]);
  const picked = (trace) => {
    if (!fitting || !trace.runs) return trace;
    const kept = trace.runs.map((_, at) => at).filter((at) => fits(trace.runs[at]));
    if (kept.length === trace.runs.length) return trace;
    const pick = (list) => (Array.isArray(list) ? kept.map((at) => list[at]) : list);
    if (trace.runs.length === 1 && trace.type !== "heatmap") return null;
    const { error_y: bars } = trace;
    const found = { ...trace, y: pick(trace.y), runs: pick(trace.runs), hovertext: pick(trace.hovertext) };
    if (trace.text) found.text = pick(trace.text);
    if (trace.textposition) found.textposition = pick(trace.textposition);
    if (trace.type === "heatmap") found.z = pick(trace.z);
    else found.x = pick(trace.x);
    if (bars) found.error_y = { ...bars, array: pick(bars.array), arrayminus: pick(bars.arrayminus) };
    return kept.length ? found : null;
  };
  const isEmpty = (figure) => figure.data.some((trace) => trace.runs)
    && !figure.data.some((trace) => trace.runs && picked(trace));
  // Names of an axis at which nothing is left would stand beside empty places.
  const narrowed = (axis, traces, which) => {
    if (!axis?.categoryarray || traces.every((trace) => !trace.runs)) return axis;
    const left = new Set(traces.flatMap((trace) => trace[which]));
    const kept = axis.categoryarray.map((_, at) => at).filter((at) => left.has(axis.categoryarray[at]));
    const pick = (list) => kept.map((at) => list[at]);
    if (axis.tickvals.length !== axis.categoryarray.length) return axis;
    return { ...axis, categoryarray: pick(axis.categoryarray), tickvals: pick(axis.tickvals), ticktext: pick(axis.ticktext) };
  };
  // On a narrow panel a table has no room for long names of rows beside it, nor for the bar of its colours.
  const NARROW = 520;
  const inLines = (axis) => ({
    ...axis, title: undefined, tickfont: { size: 9 }, ticktext: axis.ticktext.map((text) => text.split(", ").join(",<br>")),
  });
  const draw = (holder) => {
    const { data: all, layout: whole, hidden, legend } = drawn.get(holder);
    const traces = all.map((trace) => picked(trace) || { ...trace, x: [], y: [], error_y: undefined });
    const [xaxis, yaxis] = ["x", "y"].map((which) => narrowed(whole[`${which}axis`], traces, which));
    const left = fitting ? { ...whole, xaxis, yaxis } : whole;
    const isNarrowTable = widthOf(holder) < NARROW && all[0]?.type === "heatmap";
    const given = isNarrowTable ? { ...left, yaxis: inLines(left.yaxis) } : left;
    const shown = themed(isNarrowTable ? traces.map((trace) => ({ ...trace, showscale: false })) : traces).map((trace) => ({ ...trace, visible: !hidden.has(trace.legendgroup) }));
    const listed = shown.filter((trace) => trace.showlegend);
    legend.querySelectorAll("button svg").forEach((old, place) => old.replaceWith(swatchOf(listed[place])));
    return plotly().react(holder, shown, layout(given, holder), settings);
  };
  // Names to press: what is not wanted is hidden. It stands outside of the drawing, to leave that its size.
  const legendOf = (traces, holder, hidden) => {
    const legend = element("div", { className: "legend" });
    traces.filter((trace) => trace.showlegend).forEach((trace) => {
      const name = trace.legendgroup;
      const button = element("button", { type: "button" }, swatchOf(trace), name);
      const show = () => button.setAttribute("aria-pressed", String(!hidden.has(name)));
      button.addEventListener("click", () => {
        if (!hidden.delete(name)) hidden.add(name);
        show();
        draw(holder);
      });
      show();
      legend.append(button);
    });
    return legend;
  };
  const add = (holder, figure) => {
    const hidden = new Set();
    const legend = legendOf(figure.data, holder, hidden);
    holder.before(legend);
    drawn.set(holder, { ...figure, hidden, legend });
    return draw(holder);
  };
  const figureOf = (holder) => data.figures[Number(holder.dataset.picture)][Number(holder.dataset.panel)];

  const waiting = new Set(document.querySelectorAll("[data-picture]"));
  const drawWaiting = (holder) => {
    if (!waiting.delete(holder)) return undefined;
    watcher.unobserve(holder);
    return add(holder, figureOf(holder));
  };
  const watcher = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => drawWaiting(entry.target)),
    { rootMargin: "200px" },
  );
  waiting.forEach((holder) => watcher.observe(holder));

  const forget = () => [...drawn.keys()].filter((holder) => !holder.isConnected).forEach((holder) => {
    window.Plotly.purge(holder);
    drawn.delete(holder);
  });
  const redraw = () => { forget(); [...drawn.keys()].forEach(draw); };
  theme.onChange(redraw);
  const figures = [...document.querySelectorAll("#pictures figure")];
  const filter = (found) => {
    fitting = found.every(Boolean) ? null : found;
    figures.forEach((figure, at) => {
      const panels = [...figure.querySelectorAll(".panel")];
      panels.forEach((panel, of) => { panel.hidden = Boolean(fitting) && isEmpty(data.figures[at][of]); });
      figure.hidden = Boolean(fitting) && (!fits(data.pictures[at]) || panels.every((panel) => panel.hidden));
      const isWhole = !data.figures[at].some((one) => one.data.some((trace) => trace.runs));
      const note = figure.querySelector(".filtered");
      note.hidden = !fitting || data.pictures[at].every((place) => fitting[place]);
      note.textContent = isWhole ? "This picture cannot be filtered: it shows runs that do not fit too."
        : "Filtered. The words and numbers below are of all runs.";
    });
    redraw();
  };
  table.onFilter(filter);
  const print = (on) => {
    paper = on;
    if (on) [...waiting].filter((holder) => !holder.closest("[hidden]")).forEach(drawWaiting);
    theme.force(on ? "light" : null);
  };
  return { add, print };
})();

// The samples of one run: warm-up before 0, then the timed ones.
const samplesOf = (part) => {
  const places = (curve, offset) => (curve.at || curve.ms.map((_, i) => i)).map((at) => at + offset);
  const curve = (name, one, offset, place) => ({
    type: "scatter", mode: one.count <= 80 ? "lines+markers" : "lines",
    name, legendgroup: name, showlegend: true, x: places(one, offset), y: one.ms,
    line: { color: place, width: 1.5 }, marker: { color: place, size: 5 }, hoverinfo: "x+y+name",
  });
  const traces = [curve("timed", part.timed, 0, "@1")];
  if (part.warmup.count) traces.unshift(curve("warm-up", part.warmup, -part.warmup.count, "@0"));
  const shade = { type: "rect", xref: "x", yref: "paper", y0: 0, y1: 1, fillcolor: "@ink/0.08", line: { width: 0 }, layer: "below" };
  const shapes = part.steady > 0 ? [{ ...shade, x0: 0, x1: part.steady }] : [];
  const axis = { gridcolor: "@grid", linecolor: "@ink", zerolinecolor: "@grid", automargin: true };
  const each = part.block > 1 ? `, blocks of ${part.block} steps` : "";
  const layout = {
    xaxis: { ...axis, title: { text: `sample${each}` } },
    yaxis: { ...axis, title: { text: "time per step [ms]" }, rangemode: "tozero", hoverformat: ".4~g" },
    shapes, showlegend: false, height: 260,
  };
  const holder = element("div", { className: "drawing" });
  holder.setAttribute("role", "group");
  holder.setAttribute("aria-label", "picture of the samples; their statistics are below");
  holder.style.minHeight = `${layout.height}px`;
  const all = part.timed.count;
  const words = [
    `${all} samples after ${part.warmup.count} of warm-up.`,
    part.timed.at ? "Drawn with fewer points, the extremes kept." : "",
    part.steady > 0 ? `The shaded first ${part.steady} are not in the statistics.` : "",
  ];
  // After the frame in which the run is read, because the first picture takes a while.
  requestAnimationFrame(() => setTimeout(() => holder.isConnected && pictures.add(holder, { data: traces, layout })));
  return [holder, element("p", { className: "quiet" }, words.filter(Boolean).join(" "))];
};
