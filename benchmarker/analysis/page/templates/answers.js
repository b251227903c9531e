// Who is fastest: shown where a run of the work fits the filters, with everybody behind a button.
const answers = (() => {
  const rows = [...document.querySelectorAll("#answered .answer")];
  const alone = [...document.querySelectorAll("#alone li")];
  const nothing = document.getElementById("no-answers");
  const shown = document.getElementById("shown");
  const counted = (count, all, noun) => {
    const text = count === all ? `${count}` : `${count} of ${all}`;
    return `${text} ${noun}${all === 1 ? "" : "s"}`;
  };

  rows.forEach((row) => {
    const [button, everybody] = [row.querySelector(".more"), row.querySelector(".everybody")];
    everybody.hidden = true;
    button.addEventListener("click", () => {
      everybody.hidden = !everybody.hidden;
      button.setAttribute("aria-expanded", String(!everybody.hidden));
    });
  });

  table.onFilter((fitting) => {
    const fits = (places) => places.some((place) => fitting[place]);
    const some = data.answers.map(fits);
    rows.forEach((row, place) => { row.hidden = !some[place]; });
    alone.forEach((item, place) => { item.hidden = !fits(data.alone[place]); });
    document.querySelectorAll("#answered .group").forEach((group) => {
      let next = group.nextElementSibling;
      while (next && next.hidden && !next.classList.contains("group")) next = next.nextElementSibling;
      group.hidden = !next || next.classList.contains("group");
    });
    const box = document.getElementById("alone");
    if (box) box.hidden = alone.every((item) => item.hidden);
    const count = some.filter(Boolean).length;
    if (nothing) nothing.hidden = count > 0;
    const runs = counted(fitting.filter(Boolean).length, fitting.length, "run");
    shown.textContent = rows.length ? `${counted(count, rows.length, "answer")}, ${runs}` : runs;
  });
})();
