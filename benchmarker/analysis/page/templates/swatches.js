// What stands for a series in a legend: a bar with its hatch, or a line with its sign.
const swatchOf = (() => {
  const signs = {
    circle: "M-4.5 0A4.5 4.5 0 1 0 4.5 0A4.5 4.5 0 1 0-4.5 0Z",
    square: "M-4-4H4V4H-4Z",
    "triangle-up": "M0-5L5 4H-5Z",
    diamond: "M0-5.5L5.5 0 0 5.5-5.5 0Z",
    "triangle-down": "M0 5L5-4H-5Z",
    cross: "M-1.8-5H1.8V-1.8H5V1.8H1.8V5H-1.8V1.8H-5V-1.8H-1.8Z",
    x: "M-5-2.5L-2.5-5 0-2.5 2.5-5 5-2.5 2.5 0 5 2.5 2.5 5 0 2.5-2.5 5-5 2.5-2.5 0Z",
    "triangle-left": "M-5 0L4-5V5Z",
    "triangle-right": "M5 0L-4-5V5Z",
    pentagon: "M0-5L4.8-1.5 2.9 4.5H-2.9L-4.8-1.5Z",
    hexagon: "M0-5L4.3-2.5V2.5L0 5-4.3 2.5V-2.5Z",
  };
  const spaced = (line, from, to, by) => {
    const count = Math.floor((to - from) / by) + 1;
    return Array.from({ length: count }, (_, i) => line(from + i * by)).join("");
  };
  const lines = {
    "/": (by) => spaced((x) => `M${x} 7l14-14`, -25, 11, by),
    "\\": (by) => spaced((x) => `M${x}-7l14 14`, -25, 11, by),
    "-": (by) => spaced((y) => `M-11 ${y}h22`, -4, 4, by - 1),
    "|": (by) => spaced((x) => `M${x}-7v14`, -8, 8, by - 1),
  };
  lines.x = (by) => lines["/"](by) + lines["\\"](by);
  lines["+"] = (by) => lines["-"](by) + lines["|"](by);

  const shape = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    return made;
  };
  const filled = (colour, pattern) => {
    const block = shape("rect", { x: -11, y: -7, width: 22, height: 14, rx: 2, fill: colour });
    if (!pattern) return [block];
    const hatch = { d: lines[pattern.shape](pattern.size - 2), stroke: pattern.fgcolor, "stroke-width": 1.2 };
    return [block, shape("path", hatch)];
  };
  const drawn = (trace) => {
    const line = { d: "M-11 0H11", stroke: trace.line?.color, "stroke-width": 2 };
    if (trace.line?.dash === "dash") line["stroke-dasharray"] = "6 3";
    const [symbol, open] = (trace.marker?.symbol || "circle").split("-open");
    const ink = trace.marker?.color;
    const sign = { d: signs[symbol], ...(open === undefined ? { fill: ink } : { fill: "none", stroke: ink, "stroke-width": 1.6 }) };
    const has = (part) => trace.mode.includes(part);
    return [...(has("lines") ? [shape("path", line)] : []), ...(has("markers") ? [shape("path", sign)] : [])];
  };
  return (trace) => {
    const picture = shape("svg", { viewBox: "-11 -7 22 14", "aria-hidden": "true" });
    if (trace.type === "bar") picture.append(...filled(trace.marker.color, trace.marker.pattern));
    else if (trace.type === "violin") picture.append(...filled(trace.line.color));
    else picture.append(...drawn(trace));
    return picture;
  };
})();
