// Where discs are between two frames of the server, and what step it is by now.

const STEPS = 0.06; // of the physics in a ms
const DELAY = 4; // steps that the picture is behind the newest one, so that there is a frame on either side
const LATE = 400; // ms: a frame that is later than this begins a new count, as after a lost connection
const JUMP = 60; // px between two frames that no disc moves: it was set somewhere else
const KEPT = 16;
const BACK = 60; // steps that the clock rather waits than goes back: a late frame is no earlier time

export class Motion {
  #frames = [];
  #zero = 0; // when step 0 was, by the clock of the page

  #stopped = null; // the step at which the connection was lost
  #reached = 0; // the step that was told last

  get newest() {
    return this.#frames.at(-1);
  }

  get passes() {
    return Boolean(this.newest) && !this.newest.waits && !this.newest.over;
  }

  add(frame, now = performance.now()) {
    const { newest } = this;
    // Time begins anew with a trial, and goes back where a server was stopped before it had kept more.
    if (newest && (frame.trial !== newest.trial || frame.step < newest.step)) this.#frames = [];
    if (frame.trial !== newest?.trial) this.#reached = 0;
    if (this.newest?.step === frame.step) this.#frames.pop();
    const zero = now - frame.step / STEPS;
    // The frame that came fastest tells best when a step was; a slow drift of the clocks is followed.
    const other = !this.#frames.length || Math.abs(zero - this.#zero) > LATE;
    this.#zero = other ? zero : Math.min(this.#zero + 0.5, zero);
    this.#stopped = null;
    this.#frames.push(frame);
    if (this.#frames.length > KEPT) this.#frames.shift();
  }

  // Time stands still until the next frame.
  stop() {
    if (this.newest) this.#stopped = this.step();
  }

  // The step by now.
  step(now = performance.now()) {
    if (!this.newest) return 0;
    if (this.#stopped !== null) return this.#stopped;
    return this.passes ? Math.max((now - this.#zero) * STEPS, this.newest.step) : this.newest.step;
  }

  // The step by now, for a clock that is read: it does not go back by moments.
  told(now = performance.now()) {
    const step = this.step(now);
    if (step > this.#reached || step < this.#reached - BACK) this.#reached = step;
    return this.#reached;
  }

  // Whether the picture changes from one moment to the next.
  moves(now = performance.now()) {
    if (!this.newest || this.#stopped !== null) return false;
    return this.newest.moves || this.#at(now) < this.newest.step;
  }

  #at(now) {
    return Math.min(this.step(now) - DELAY, this.newest.step);
  }

  // [{state, x, y, theta, cell}]: the discs as they are drawn; those of the newest frame where nothing is drawn moving.
  discs({ smooth = true, now = performance.now() } = {}) {
    const frames = this.#frames;
    const at = smooth ? this.#at(now) : Infinity;
    let later = frames.findIndex((frame) => frame.step >= at);
    if (later < 0) later = frames.length - 1;
    const [before, after] = [frames[Math.max(later - 1, 0)], frames[later]];
    const share = after.step > before.step ? Math.min(Math.max((at - before.step) / (after.step - before.step), 0), 1) : 1;
    return this.newest.discs.map((data, k) => {
      const state = data[0];
      if (state !== "placed" || frames[later].discs[k][0] !== "placed") return read(data); // an action is shown at once
      const [here, there] = [before.discs[k], after.discs[k]];
      const [dx, dy] = [there[1] - here[1], there[2] - here[2]];
      if (here[0] !== "placed" || !(Math.hypot(dx, dy) < JUMP)) return read(there);
      return { state, x: here[1] + share * dx, y: here[2] + share * dy };
    });
  }
}

export function read([state, ...data]) {
  if (state === "stored") return { state, cell: data[0] };
  if (state === "held") return { state, x: data[0], y: data[1], theta: data[2] };
  return state === "placed" ? { state, x: data[0], y: data[1] } : { state };
}
