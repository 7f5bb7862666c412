// console.table.
// tableText shows rows as lines of a table, at most maxShown of them: a column for each property, and one for rows that are no
// objects. columns, if not null, says which properties.
const tableText = (rows, columns) => {
  const map = inherits(rows, MapPrototype), entries = [], names = [], lines = [];
  if (map) apply(mapEach, rows, [(value, key) => entries.push([inspect(key, 1, []), value])]);
  else if (inherits(rows, SetPrototype)) apply(setEach, rows, [(value) => entries.push([`${entries.length}`, value])]);
  else for (const key of objectKeys(rows)) entries.push([key, rows[key]]);
  let values = false;
  for (const [, row] of entries.slice(0, maxShown)) {
    if (!isObject(row)) values = true;
    else for (const name of columns ?? objectKeys(row)) if (!names.includes(name) && names.length < maxShown) names.push(name);
  }
  lines.push(["(index)", ...names.map(textOf), ...(values ? ["Values"] : [])]);
  for (const [key, row] of entries.slice(0, maxShown)) {
    const cells = names.map((name) => (isObject(row) && hasOwn(row, name) ? inspect(row[name], maxDepth - 1, []) : ""));
    lines.push([key, ...cells, ...(values ? [isObject(row) ? "" : inspect(row, maxDepth - 1, [])] : [])]);
  }
  const widths = lines[0].map((_, k) => Math.max(...lines.map((line) => line[k].length)));
  const rule = (left, middle, right) => left + widths.map((n) => "─".repeat(n + 2)).join(middle) + right;
  const text = lines.map((line) => `│ ${line.map((cell, k) => cell.padEnd(widths[k])).join(" │ ")} │`);
  text.splice(1, 0, rule("├", "┼", "┤"));
  if (entries.length > maxShown) text.push(`… ${entries.length - maxShown} more`);
  return [rule("┌", "┬", "┐"), ...text, rule("└", "┴", "┘")].join("\n");
};
