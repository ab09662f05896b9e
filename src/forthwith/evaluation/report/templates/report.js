"use strict";
(() => {
  const root = document.documentElement;
  const themes = ["auto", "light", "dark"];
  const button = document.querySelector("button.theme");
  const show = (theme) => {
    if (theme === "auto") root.removeAttribute("data-theme"); else root.setAttribute("data-theme", theme);
    button.textContent = "Theme: " + theme;
    button.dataset.now = theme;
  };
  if (button) {
    button.hidden = false;
    show("auto");
    button.addEventListener("click", () => show(themes[(themes.indexOf(button.dataset.now) + 1) % themes.length]));
  }
  const filter = document.querySelector("select.families");
  if (filter) filter.addEventListener("change", () => {
    for (const error of document.querySelectorAll(".error")) {
      error.hidden = filter.value !== "" && error.dataset.family !== filter.value;
    }
  });
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const name = head.textContent;
      head.innerHTML = "";
      const sorter = document.createElement("button");
      sorter.textContent = name;
      head.append(sorter);
      sorter.addEventListener("click", () => {
        const rising = head.getAttribute("aria-sort") === "descending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", rising ? "ascending" : "descending");
        const value = (row) => {
          const text = row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
          const number = Number(text);
          return text === "" ? -Infinity : Number.isNaN(number) ? text : number;
        };
        const body = table.tBodies[0];
        const sorted = [...body.rows].sort((a, b) => {
          const [x, y] = [value(a), value(b)];
          const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
          return rising ? order : -order;
        });
        body.append(...sorted);
      });
    });
  }
})();
