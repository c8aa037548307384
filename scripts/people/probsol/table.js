// The table on a canvas: where everything lies, what is at a point, and how it is drawn.
//
// Lengths are px of the table, 480 to a side, y downwards. The side bar lies at the left of the table, or below it where
// the page is narrow.

export const SIDE = 480;
export const CELL = 12;
export const GRID = 40;
export const RADIUS = 12;
const SLOTS = 12; // cells in a column of the side bar at the left
const COLUMNS = 6; // cells in a row of the side bar below
const BAR = 56;

const LIGHT = {
  paper: "#f7f5ee", line: "#e8e3d5", frame: "#8d8674", dark: "#5f5d5a", hatch: "#6e6b67", wall: "#2f2e2c",
  side: "#e4dfd1", slot: "#f3f0e6", slotLine: "#b3ac9a", weak: "#6b6453", ink: "#1f1d19", gold: "#e5a800",
  red: "#c4161c", pale: "rgb(214 39 40 / 16%)", redDark: "#ff9a8f", paleDark: "rgb(255 110 96 / 30%)",
  grey: "#6d6d6d", greyFill: "rgb(110 110 110 / 14%)", focus: "#0a5a96", halo: "#ffffff",
}; // prettier-ignore
const DARK = {
  ...LIGHT, paper: "#d9d5c9", line: "#cbc6b7", frame: "#a59d88", dark: "#3d3b39", hatch: "#4b4946", wall: "#151413",
  side: "#2c3237", slot: "#3a4147", slotLine: "#59626a", weak: "#c3c9ce", grey: "#585858", pale: "rgb(196 22 28 / 20%)",
}; // prettier-ignore

export const within = ([x, y, width, height], px, py) => x <= px && px < x + width && y <= py && py < y + height;

export function inPolygon(corners, x, y) {
  let inside = false;
  corners.forEach(([ax, ay], k) => {
    const [bx, by] = corners[(k + 1) % corners.length];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  });
  return inside;
}

export const centre = (column, row) => [CELL * (column + 0.5), CELL * (row + 0.5)];

// The grid point nearest to a place.
export const gridPoint = (x, y) => [x, y].map((each) => Math.min(Math.max(Math.floor(each / CELL), 0), GRID - 1));

// The areas at a place, in words.
export function areasAt(drawing, x, y) {
  const found = [];
  if (drawing.dark.some((area) => within(area, x, y))) found.push("dark");
  if (drawing.walls.some((area) => within(area, x, y))) found.push("wall");
  drawing.targets.forEach((area, k) => {
    if (within(area, x, y)) found.push(drawing.targets.length > 1 ? `target ${k + 1}` : "target");
  });
  drawing.building.forEach((corners) => {
    if (inPolygon(corners, x, y)) found.push("building");
  });
  drawing.blocks.forEach((corners, k) => {
    if (inPolygon(corners, x, y)) found.push(`block ${k + 1}`);
  });
  return found;
}

// Whether the disc in hand can be set down at a grid point: not in the dark, nor on a wall, an edge or another disc.
export function isOpen(drawing, discs, [column, row]) {
  const [x, y] = centre(column, row);
  if (Math.min(x, y, SIDE - x, SIDE - y) < RADIUS || drawing.dark.some((area) => within(area, x, y))) return false;
  const onWall = drawing.walls.some(([left, top, width, height]) => {
    const [dx, dy] = [Math.max(left - x, x - left - width, 0), Math.max(top - y, y - top - height, 0)];
    return Math.hypot(dx, dy) < RADIUS;
  });
  return !onWall && !discs.some((disc) => disc.state === "placed" && Math.hypot(disc.x - x, disc.y - y) < 2 * RADIUS);
}

// Where the parts of the picture lie. `narrow` puts the side bar below the table.
export class Layout {
  constructor(cells, narrow) {
    this.cells = cells;
    this.narrow = narrow;
    this.columns = narrow ? COLUMNS : Math.ceil(cells / SLOTS);
    this.rows = narrow ? Math.ceil(cells / COLUMNS) : Math.min(cells, SLOTS);
    this.left = narrow ? 0 : BAR * this.columns + 8;
    this.slot = narrow ? [66, 46] : [BAR, 36];
    this.width = this.left + SIDE;
    this.height = narrow ? SIDE + 8 + this.rows * this.slot[1] : SIDE;
  }

  // [x, y, width, height] of a cell of the side bar.
  cell(number) {
    const [wide, high] = this.slot;
    if (this.narrow) {
      return [(number % COLUMNS) * wide, SIDE + 8 + Math.floor(number / COLUMNS) * high, wide, high];
    }
    return [Math.floor(number / SLOTS) * wide, (number % SLOTS) * high, wide, high];
  }

  get hand() {
    const top = SIDE + 8;
    return this.narrow ? [COLUMNS * 66 + 6, top, SIDE - COLUMNS * 66 - 6, this.height - top] : [0, 436, BAR, 44];
  }

  // The cell at a place of the picture; null for none.
  cellAt(x, y) {
    for (let cell = 0; cell < this.cells; cell++) if (within(this.cell(cell), x, y)) return cell;
    return null;
  }
}

// Whether black or white is legible on a colour; any CSS colour is read by the canvas.
const readable = new Map();
function letterOn(context, colour) {
  if (!readable.has(colour)) {
    context.fillStyle = "#000";
    context.fillStyle = colour;
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(context.fillStyle.slice(at, at + 2), 16) / 255);
    const light = [red, green, blue].map((part) => (part <= 0.04 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    readable.set(colour, 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] > 0.19 ? "#000000" : "#ffffff");
  }
  return readable.get(colour);
}

// Draws one picture.
// discs: [{id, colour, name, golden, state, x, y, theta, cell}]; marks: {hover, ghost, cursor, reachable}
export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
  }

  // Fit the canvas to its width on the page; the scale of a px.
  fit(layout) {
    const shown = this.canvas.clientWidth || layout.width;
    const fine = window.devicePixelRatio || 1;
    const [wide, high] = [Math.round(shown * fine), Math.round(((shown * layout.height) / layout.width) * fine)];
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      this.canvas.width = wide;
      this.canvas.height = high;
    }
    this.scale = wide / layout.width;
    this.larger = Math.min(Math.max(layout.width / shown, 1), 1.5); // letters of a small picture
  }

  paint(layout, drawing, discs, marks) {
    this.fit(layout);
    const c = this.context;
    this.colours = this.scheme.matches ? DARK : LIGHT;
    c.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    c.clearRect(0, 0, layout.width, layout.height);
    c.lineJoin = "round";
    this.bar(layout, marks);
    c.save();
    c.translate(layout.left, 0);
    this.areas(drawing);
    for (const disc of discs) if (disc.state === "placed") this.disc(disc, disc.x, disc.y, marks);
    for (const disc of discs) if (disc.state === "held") this.held(disc);
    c.restore();
    for (const disc of discs) {
      if (disc.state === "stored") {
        const [x, y, wide, high] = layout.cell(disc.cell);
        this.disc(disc, x + wide / 2 + 5, y + high / 2 + 1, marks);
      } else if (disc.state === "grabbed") {
        const [x, y, wide, high] = layout.hand;
        this.disc(disc, x + wide / 2, y + high / 2 + 7, marks);
      }
    }
    this.marks(layout, discs, marks);
  }

  rect([x, y, wide, high], fill, line, thick = 1, round = 0) {
    const c = this.context;
    c.beginPath();
    c.roundRect(x, y, wide, high, round);
    this.#paint(fill, line, thick);
  }

  #paint(fill, line, thick) {
    const c = this.context;
    if (fill) {
      c.fillStyle = fill;
      c.fill();
    }
    if (line) {
      c.strokeStyle = line;
      c.lineWidth = thick;
      c.stroke();
    }
  }

  text(text, x, y, size, fill, { align = "center", halo = null, weight = 600 } = {}) {
    const c = this.context;
    c.font = `${weight} ${size * this.larger}px system-ui, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif`;
    c.textAlign = align;
    c.textBaseline = "middle";
    if (halo) {
      c.strokeStyle = halo;
      c.lineWidth = 3;
      c.strokeText(text, x, y);
    }
    c.fillStyle = fill;
    c.fillText(text, x, y);
  }

  circle(x, y, radius, fill, line, thick) {
    const c = this.context;
    c.beginPath();
    c.arc(x, y, radius, 0, 2 * Math.PI);
    this.#paint(fill, line, thick);
  }

  bar(layout, marks) {
    const { colours } = this;
    for (let cell = 0; cell < layout.cells; cell++) {
      const [x, y, wide, high] = layout.cell(cell);
      const chosen = marks.hover?.cell === cell;
      this.rect([x + 1.5, y + 1.5, wide - 3, high - 3], colours.slot, chosen ? colours.focus : colours.slotLine, 1, 6);
      this.text(`${cell}`, x + 10, y + 11, 9, colours.weak, { weight: 500 });
    }
    const [x, y, wide, high] = layout.hand;
    this.rect([x + 1.5, y + 1.5, wide - 3, high - 3], colours.side, colours.weak, 1.5, 6);
    this.text("hand", x + wide / 2, y + 3 + 6.5 * this.larger, 9, colours.weak);
  }

  areas(drawing) {
    const { context: c, colours } = this;
    c.save();
    c.beginPath();
    c.roundRect(0, 0, SIDE, SIDE, 6);
    c.clip();
    this.rect([0, 0, SIDE, SIDE], colours.paper);
    for (let at = 4 * CELL; at < SIDE; at += 4 * CELL) {
      this.line([[at, 0], [at, SIDE]], colours.line, 1); // prettier-ignore
      this.line([[0, at], [SIDE, at]], colours.line, 1); // prettier-ignore
    }
    for (const area of drawing.dark) this.dark(area);
    drawing.targets.forEach((area, k) => this.target(area, drawing.targets.length > 1 ? `target ${k + 1}` : "target", drawing));
    for (const area of drawing.walls) this.rect(area, colours.wall);
    for (const corners of drawing.building) this.polygon(corners, colours.greyFill, colours.grey, 2, [5, 4]);
    drawing.blocks.forEach((corners, k) => {
      this.polygon(corners, colours.pale, colours.red, 2);
      const [x, y] = [0, 1].map((part) => corners.reduce((sum, each) => sum + each[part], 0) / corners.length);
      this.text(`${k + 1}`, x, y, 10, colours.red, { halo: colours.paper });
    });
    this.rect([0.75, 0.75, SIDE - 1.5, SIDE - 1.5], null, colours.frame, 1.5, 6);
    c.restore();
  }

  dark([x, y, wide, high]) {
    const { context: c, colours } = this;
    this.rect([x, y, wide, high], colours.dark);
    c.save();
    c.beginPath();
    c.rect(x, y, wide, high);
    c.clip();
    for (let at = x - high; at < x + wide; at += 14) {
      this.line([[at, y + high], [at + high, y]], colours.hatch, 2); // prettier-ignore
    }
    c.restore();
    if (wide > 40 && high > 20) this.text("dark", x + wide - 10, y + 12, 10, "#f0eee8", { align: "right", weight: 500 });
  }

  target(area, name, { dark }) {
    const { colours } = this;
    const [x, y, wide, high] = area;
    const within_dark = dark.some((each) => within(each, x + wide / 2, y + high / 2));
    const line = within_dark ? colours.redDark : colours.red;
    this.rect(area, within_dark ? colours.paleDark : colours.pale, line, 2.5);
    this.text(name, x + 5, y + high - 8, 10, within_dark ? "#ffffff" : colours.red, { align: "left" });
  }

  line(points, colour, thick) {
    const c = this.context;
    c.beginPath();
    points.forEach(([x, y], k) => (k ? c.lineTo(x, y) : c.moveTo(x, y)));
    c.strokeStyle = colour;
    c.lineWidth = thick;
    c.stroke();
  }

  polygon(corners, fill, line, thick, dash = []) {
    const c = this.context;
    c.beginPath();
    corners.forEach(([x, y], k) => (k ? c.lineTo(x, y) : c.moveTo(x, y)));
    c.closePath();
    c.fillStyle = fill;
    c.fill();
    c.setLineDash(dash);
    c.strokeStyle = line;
    c.lineWidth = thick;
    c.stroke();
    c.setLineDash([]);
  }

  disc(disc, x, y, marks) {
    const { context: c, colours } = this;
    if (disc.golden) this.golden(x, y);
    if (marks.hover?.disc === disc.id) this.circle(x, y, RADIUS + 3, null, colours.focus, 2.5);
    this.circle(x, y + 1.5, RADIUS + 1.5, "rgb(0 0 0 / 22%)", null, 0);
    this.circle(x, y, RADIUS - 0.5, disc.colour, colours.halo, 2.5);
    this.circle(x, y, RADIUS - 0.5, null, colours.ink, 1);
    this.text(disc.id.slice(0, 4), x, y + 0.5, disc.id.length < 3 ? 13 : 9, letterOn(c, disc.colour));
    if (disc.name) this.text(disc.name, x, y + RADIUS + 7, 9.5, colours.ink, { halo: colours.paper });
  }

  golden(x, y) {
    const reach = RADIUS + 4;
    this.rect([x - reach, y - reach, 2 * reach, 2 * reach], null, "#241c00", 5, 3);
    this.rect([x - reach, y - reach, 2 * reach, 2 * reach], null, this.colours.gold, 3, 3);
  }

  // A ring, the boundary across the disc, a dot on the side that theta points to, and the name on the other side.
  held(disc) {
    const { colours } = this;
    const { x, y } = disc;
    const [dx, dy] = [Math.cos((disc.theta * Math.PI) / 180), -Math.sin((disc.theta * Math.PI) / 180)];
    const reach = RADIUS - 1;
    if (disc.golden) this.golden(x, y);
    this.circle(x, y, RADIUS - 0.5, disc.colour, colours.ink, 1);
    this.circle(x, y, RADIUS + 4, null, colours.halo, 4);
    this.circle(x, y, RADIUS + 4, null, colours.ink, 2);
    for (const [colour, thick] of [["#ffffff", 4.5], [colours.ink, 2]]) { // prettier-ignore
      this.line([[x - reach * dy, y + reach * dx], [x + reach * dy, y - reach * dx]], colour, thick); // prettier-ignore
    }
    this.circle(x + (RADIUS + 4) * dx, y + (RADIUS + 4) * dy, 3.5, "#ffffff", colours.ink, 1.5);
    const away = RADIUS + 14;
    this.text(disc.id.slice(0, 4), x - away * dx, y - away * dy, 13, colours.ink, { halo: colours.halo });
  }

  marks(layout, discs, { ghost, cursor }) {
    const { context: c, colours } = this;
    if (ghost) {
      const [x, y] = centre(...ghost.point);
      c.save();
      c.translate(layout.left, 0);
      c.globalAlpha = 0.55;
      this.circle(x, y, RADIUS - 0.5, ghost.disc.colour, null, 0);
      c.globalAlpha = 1;
      c.setLineDash([4, 3]);
      this.circle(x, y, RADIUS + 1, null, colours.halo, 3.5);
      this.circle(x, y, RADIUS + 1, null, ghost.open ? colours.ink : colours.red, 2);
      c.setLineDash([]);
      if (!ghost.open) {
        for (const [colour, thick] of [[colours.halo, 5], [colours.red, 2.5]]) { // prettier-ignore
          this.line([[x - 6, y - 6], [x + 6, y + 6]], colour, thick); // prettier-ignore
          this.line([[x + 6, y - 6], [x - 6, y + 6]], colour, thick); // prettier-ignore
        }
      }
      c.restore();
    }
    if (cursor) {
      const place =
        cursor.cell === undefined
          ? [layout.left + cursor.column * CELL - 2, cursor.row * CELL - 2, CELL + 4, CELL + 4]
          : layout.cell(cursor.cell);
      this.rect(place, null, colours.halo, 5, 4);
      this.rect(place, null, colours.focus, 2.5, 4);
    }
  }
}
