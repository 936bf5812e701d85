// Tables that are sorted by a click on the head of a column.
import { html } from "/dom.js";

// Fills a table. A column has a `name`, a `value` by which it is sorted, and `show`, which returns text or a node of a row;
// `number` columns are aligned right and sorted from the largest on. `sorted` is the column to begin with.
export function fill(table, columns, rows, sorted, most = 500) {
  const state = (table.sorting ??= { by: sorted, rising: !columns[sorted].number });
  const head = table.tHead ?? table.createTHead();
  const body = table.tBodies[0] ?? table.createTBody();
  const draw = () => {
    const { value } = columns[state.by];
    const order = (a, b) => {
      const [left, right] = [value(a) ?? -Infinity, value(b) ?? -Infinity];
      return left < right ? -1 : left > right ? 1 : 0;
    };
    const ordered = [...rows].sort((a, b) => (state.rising ? order(a, b) : order(b, a)));
    body.replaceChildren(...ordered.slice(0, most).map((row) => line(columns, row)));
    [...head.rows[0].cells].forEach((cell, at) => {
      if (at === state.by) cell.setAttribute("aria-sort", state.rising ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    });
  };
  table.redraw = draw;
  if (!head.rows[0]?.cells.length) heads(head, columns, state, table);
  draw();
}

function heads(head, columns, state, table) {
  const row = head.rows[0] ?? head.insertRow();
  columns.forEach(({ name, number }, at) => {
    const [cell, button] = [html("th", "", number ? "number" : ""), html("button", name)];
    cell.scope = "col";
    button.type = "button";
    button.addEventListener("click", () => {
      Object.assign(state, { by: at, rising: at === state.by ? !state.rising : !number });
      table.redraw();
    });
    cell.append(button);
    row.append(cell);
  });
}

function line(columns, row) {
  const node = document.createElement("tr");
  for (const { name, number, show, kind } of columns) {
    const cell = html("td", "", [number ? "number" : "", kind ?? ""].join(" ").trim());
    cell.dataset.label = name; // Phones show a row as a list of labels and values.
    const shown = show(row);
    cell.append(number && typeof shown === "string" ? html("span", shown) : shown);
    node.append(cell);
  }
  return node;
}
