// The table in words, for those who hear it.

import { areasAt, CELL, centre } from "./table.js";

const BOUNDARIES = { 0: "vertical", 45: "diagonal A", 90: "horizontal", 135: "diagonal B" };
const MOVED = 3; // px that are told

// "column 10, row 13.6", as actions count.
export function placeName(x, y) {
  const [column, row] = [x, y].map((each) => Number((each / CELL - 0.5).toFixed(1)));
  return `column ${column}, row ${row}`;
}

export const discName = (disc) => `${disc.id}, ${disc.name ? `${disc.name}, ` : ""}${disc.colour}${disc.golden ? ", golden box" : ""}`;

// Where a disc is.
export function whereabouts(drawing, disc) {
  if (disc.state === "stored") return `in cell ${disc.cell} of the side bar`;
  if (disc.state === "grabbed") return "in your hand";
  const areas = areasAt(drawing, disc.x, disc.y);
  const place = [placeName(disc.x, disc.y), ...areas].join(", ");
  if (disc.state === "placed") return `at ${place}`;
  return `held at ${place}, boundary ${BOUNDARIES[disc.theta % 180]}, ${disc.theta} degrees`;
}

// What lies at a grid point or in a cell of the side bar.
export function describe(drawing, discs, cursor, open) {
  if (cursor.cell !== undefined) {
    const disc = discs.find((each) => each.state === "stored" && each.cell === cursor.cell);
    return `side bar, cell ${cursor.cell}: ${disc ? discName(disc) : "empty"}`;
  }
  const [x, y] = centre(cursor.column, cursor.row);
  const there = discs.filter((disc) => ["placed", "held"].includes(disc.state) && Math.hypot(disc.x - x, disc.y - y) < CELL);
  const told = [`column ${cursor.column}, row ${cursor.row}`, ...areasAt(drawing, x, y), ...there.map(discName)];
  if (open !== null && !there.length) told.push(open ? "free" : "closed");
  return told.join(", ");
}

// What changed between two states of the discs; those that went less than a few px are not told.
export function changes(drawing, before, after) {
  return after
    .filter((disc, k) => {
      const was = before[k];
      if (was.state !== disc.state || was.theta !== disc.theta || was.cell !== disc.cell) return true;
      return disc.x !== undefined && Math.hypot(disc.x - was.x, disc.y - was.y) > MOVED;
    })
    .map((disc) => `${disc.id} ${whereabouts(drawing, disc)}`);
}
