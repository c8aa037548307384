// The connection to the server, and one episode on it.
//
// Nothing that a player does is lost: each action gets a number and is kept in the browser's IndexedDB until the server
// acknowledges it (it is on the server's disk then). After a lost connection, and on a later visit, what is still kept
// is sent again; the server takes each number once.
//
// Connection  .send(message) -> whether it was sent  .on(type, handler) -> a function that ends it  .state  .close()
//             types: those of the server's messages, "open" after each connect, "state"
// Kept        .put(scope, number, value)  .after(scope, number) -> [{number, value}]  .drop(scope, from, to)
//             .setName(name, value)  .name(name)
// Session     .start()  .again()  .leave()  .take()  .act(action, more)  .help()  .on(type, handler)  .close()
//             types: "shown" (view), "over" (view, once), "left", "refused", "helpless", "failed", "preparing" (reason),
//             "frame", "state"
//             .view  .asking (for help)  .pending (actions without acknowledgement)
//             .state: "saved", "sending", "unkept" (the server cannot write now), "offline" or "taken"

const VERSION = 1;
const TAKEN = 4001; // the code of a socket that the server closes because a newer window plays the episode
const REFUSED = 1008; // the code of a socket that the server refuses: without a cookie, or one of too many
const FIRST_WAIT = 300; // ms before the first try to connect again; each further wait is twice as long
const LONGEST_WAIT = 10_000;
const ANSWER_WITHIN = 8_000; // ms after which a connection without an answer to an action counts as lost
const AGAIN_AFTER = 5_000; // ms after which what the server could not keep is sent again
const BEGIN_WITHIN = 30_000; // the same of an episode that begins or goes on, since the server last said that it waits
const HELP_WITHIN = 60_000; // the same of help, for which the server may have to load what knows

class Emitter {
  #handlers = new Map();

  on(type, handler) {
    const handlers = this.#handlers.get(type) ?? new Set();
    this.#handlers.set(type, handlers.add(handler));
    return () => handlers.delete(handler);
  }

  emit(type, detail) {
    for (const handler of [...(this.#handlers.get(type) ?? [])]) handler(detail);
  }
}

export class Connection extends Emitter {
  #socket = null;
  #wait = FIRST_WAIT;
  #timer = 0;
  #closed = false;
  #url;

  constructor(path = "/ws") {
    super();
    this.#url = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`;
    this.state = "offline";
    addEventListener("online", () => this.#soon(0));
    addEventListener("pageshow", (event) => event.persisted && this.#soon(0));
    this.#open();
  }

  send(message) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify({ v: VERSION, ...message }));
    return true;
  }

  // Close the socket and connect anew.
  renew() {
    this.#closed = false;
    this.#drop();
    this.#soon(0);
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#drop();
  }

  #drop() {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    this.#become("offline");
  }

  #become(state) {
    if (this.state === state) return;
    this.state = state;
    this.emit("state", state);
  }

  #soon(wait) {
    clearTimeout(this.#timer);
    if (!this.#closed && !this.#socket) this.#timer = setTimeout(() => this.#open(), wait);
  }

  #open() {
    const socket = (this.#socket = new WebSocket(this.#url));
    socket.onopen = () => {
      this.#become("online");
      this.emit("open");
    };
    socket.onmessage = (event) => {
      this.#wait = FIRST_WAIT;
      const message = JSON.parse(event.data);
      this.emit(message.type, message);
    };
    socket.onclose = (event) => {
      if (socket !== this.#socket) return; // given up before
      this.#socket = null;
      if (event.code === TAKEN) {
        this.#closed = true;
        this.#become("taken");
        return;
      }
      if (event.code === REFUSED) this.#wait = LONGEST_WAIT;
      this.#become("offline");
      this.#soon(this.#wait * (1 + Math.random() / 2));
      this.#wait = Math.min(2 * this.#wait, LONGEST_WAIT);
    };
  }
}

// ---- What the browser keeps. Where it cannot (some private windows, a full disk), this page alone has it.

export class Kept {
  #database = this.#opened();

  async #opened() {
    try {
      return await new Promise((resolve, reject) => {
        const request = indexedDB.open("gumption", 1);
        request.onupgradeneeded = () => {
          request.result.createObjectStore("kept", { keyPath: ["scope", "number"] });
          request.result.createObjectStore("names");
        };
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      });
    } catch {
      return null;
    }
  }

  async #do(store, mode, ask) {
    const database = await this.#database;
    if (!database) return undefined;
    return new Promise((resolve) => {
      const transaction = database.transaction(store, mode);
      const request = ask(transaction.objectStore(store));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => resolve(undefined);
    });
  }

  put(scope, number, value) {
    return this.#do("kept", "readwrite", (store) => store.put({ scope, number, value }));
  }

  async after(scope, number) {
    const range = IDBKeyRange.bound([scope, number], [scope, Infinity], true);
    return (await this.#do("kept", "readonly", (store) => store.getAll(range))) ?? [];
  }

  drop(scope, from, to = Infinity) {
    return this.#do("kept", "readwrite", (store) => store.delete(IDBKeyRange.bound([scope, from], [scope, to])));
  }

  setName(name, value) {
    return this.#do("names", "readwrite", (store) => store.put(value, name));
  }

  name(name) {
    return this.#do("names", "readonly", (store) => store.get(name));
  }
}

// ---- One episode.

export class Session extends Emitter {
  #connection;
  #kept;
  #settings;
  #name;
  #number = 0; // of the last action that is acknowledged
  #last = 0; // of the last action that was made
  #queue = []; // {number, value}: made and not acknowledged
  #sent = 0; // of the last action that was sent on this connection
  #ready = false; // whether it is known which episode to ask for
  #resumed = false; // whether the episode was begun on a former visit
  #left = new Set(); // episodes that were left: late messages about them mean nothing
  #asked = null; // {number, after} of the help that was asked for and not answered
  #live = false; // whether the server has answered on this connection
  #over = false;
  #unkept = false; // whether the server has said that it cannot keep what is in the queue
  #timer = 0;
  #ends = [];

  // settings: those of the world's `begin`, and perhaps a seed. episode: one that the server has begun, in their place.
  constructor(connection, { world = null, settings = {}, episode = null, kept = new Kept() }) {
    super();
    this.#connection = connection;
    this.#kept = kept;
    this.world = world;
    this.#settings = settings;
    this.#name = `episode of ${world} ${JSON.stringify(settings, Object.keys(settings).sort())}`;
    this.given = episode;
    this.episode = null;
    this.view = null;
    this.frame = null;
    this.left = false;
    this.#ends = [
      connection.on("open", () => this.#ask()),
      connection.on("state", () => this.#changed()),
      connection.on("shown", (message) => this.#shown(message)),
      connection.on("refused", (message) => this.#refused(message)),
      connection.on("help_refused", (message) => this.#helpless(message)),
      connection.on("error", (message) => this.#failed(message)),
      connection.on("frame", (message) => this.#framed(message)),
      connection.on("preparing", ({ reason }) => this.#prepares(reason)),
    ];
  }

  get pending() {
    return this.#queue.length;
  }

  get asking() {
    return this.#asked !== null;
  }

  get state() {
    const state = this.#connection.state;
    if (state !== "online") return state;
    if (this.#unkept) return "unkept";
    return this.#live && !this.#queue.length ? "saved" : "sending";
  }

  // Go on with the episode that this browser has begun, else begin one. An ended one is shown again after a reload only.
  async start({ fresh = false } = {}) {
    this.episode = this.given ?? (fresh ? null : ((await this.#kept.name(this.#name)) ?? null));
    if (this.episode) {
      this.#queue = await this.#kept.after(this.episode, 0);
      this.#last = this.#queue.at(-1)?.number ?? 0;
    }
    this.#resumed = this.episode !== null && !this.given;
    this.#ready = true;
    this.#ask();
  }

  // Leave this episode and begin another.
  async again() {
    if (this.episode && !this.view?.over) this.#connection.send({ type: "leave", episode: this.episode });
    if (this.episode) {
      this.#left.add(this.episode);
      this.#kept.drop(this.episode, 0);
    }
    this.#queue = [];
    this.#unkept = false;
    this.#number = this.#last = this.#sent = 0;
    this.#asked = null;
    this.view = null;
    this.#over = this.left = false;
    await this.start({ fresh: true });
  }

  // Leave this episode for good, without another.
  leave() {
    this.#connection.send({ type: "leave", episode: this.episode });
    this.#left.add(this.episode);
    this.#kept.setName(this.#name, null);
    this.left = true;
    this.emit("left");
  }

  // Play here what another window has taken over.
  take() {
    this.#connection.renew();
  }

  close() {
    for (const end of this.#ends) end();
    clearTimeout(this.#timer);
  }

  // Make an action; `more` are further fields of the message, such as {step} in a world in real time.
  act(action, more = {}) {
    if (!this.view) throw new Error("no action before the episode is shown");
    const one = { number: ++this.#last, value: { action, at: Date.now(), ...more } };
    this.#queue.push(one);
    this.#kept.put(this.episode, one.number, one.value);
    this.#send();
    this.#changed();
    return one.number;
  }

  // Ask for help at the present choice. It comes with "shown", or not at all, which "helpless" says.
  help() {
    if (!this.view?.help || this.asking || this.pending) return;
    this.#asked = { number: this.view.help.used + 1, after: this.#number, at: Date.now() };
    this.#sendHelp();
  }

  #sendHelp() {
    if (this.#live) this.#connection.send({ type: "help", episode: this.episode, ...this.#asked });
    this.#watch();
  }

  #ask() {
    this.#live = false;
    this.#sent = this.#number;
    if (!this.#ready || this.left || this.#connection.state !== "online") return;
    const { seed, ...settings } = this.#settings;
    const begin = { type: "begin", world: this.world, settings, ...(seed === undefined ? {} : { seed: Number(seed) }) };
    this.#connection.send(this.episode ? { type: "go_on", episode: this.episode } : begin);
    this.#watch();
  }

  #send() {
    if (!this.#live) return;
    for (const { number, value } of this.#queue) {
      if (number <= this.#sent) continue;
      if (!this.#connection.send({ type: "act", episode: this.episode, number, ...value })) break;
      this.#sent = number;
    }
    this.#watch();
  }

  // A connection that gives no answer is lost, although the browser may not know it yet.
  #watch() {
    clearTimeout(this.#timer);
    if (this.#live && !this.#queue.length && !this.asking) return;
    const renew = () => this.#connection.state === "online" && this.#connection.renew();
    const wait = !this.#live ? BEGIN_WITHIN : this.#queue.length ? ANSWER_WITHIN : HELP_WITHIN;
    this.#timer = setTimeout(renew, wait);
  }

  #shown({ episode, number, view }) {
    if (!this.#ready || this.#left.has(episode) || (this.episode && episode !== this.episode)) return;
    if (this.#resumed && view.over && performance.getEntriesByType("navigation")[0]?.type === "navigate") {
      this.again();
      return;
    }
    this.#resumed = false;
    if (!this.episode) {
      this.episode = episode;
      this.#kept.setName(this.#name, episode);
    }
    const anew = !this.#live; // what was sent before this connection may be lost
    this.#live = true;
    if (number > this.#number || !this.view) {
      this.#kept.drop(episode, 0, number);
      this.#queue = this.#queue.filter((one) => one.number > number);
      this.#number = number;
      this.#last = Math.max(this.#last, number);
      this.#sent = Math.max(this.#sent, number);
    }
    this.view = view;
    const { number: help, after } = this.#asked ?? {};
    if (this.asking && (view.help?.used >= help || number !== after)) this.#asked = null;
    this.#unkept &&= this.#queue.length > 0;
    this.#send();
    if (this.asking && anew) this.#sendHelp();
    this.#watch();
    const ends = view.over && !this.#over;
    this.#over = view.over;
    this.emit("shown", view);
    this.#changed();
    if (ends) this.emit("over", view);
  }

  // The last frame is kept for a view that is loaded later.
  #framed(message) {
    if (message.episode !== this.episode) return;
    this.frame = message;
    this.emit("frame", message);
  }

  // The server says that its answer takes a while.
  #prepares(reason) {
    this.#watch();
    if (!this.view) this.emit("preparing", reason);
  }

  // A refused action and those that were made after it are no part of the episode.
  #refused({ episode, number, reason }) {
    if (episode !== this.episode) return;
    this.#queue = this.#queue.filter((one) => one.number < number);
    this.#kept.drop(episode, number);
    this.#last = Math.max(this.#number, this.#queue.at(-1)?.number ?? 0);
    this.#sent = Math.min(this.#sent, this.#last);
    this.#watch();
    this.emit("refused", reason);
    this.#changed();
  }

  #helpless({ episode, after, reason }) {
    if (episode !== this.episode || after !== this.#asked?.after) return;
    this.#asked = null;
    this.#watch();
    this.emit("helpless", reason);
  }

  #failed({ episode, reason, kind }) {
    if (kind === "taken" || this.#left.has(episode)) return; // the socket is closed with a code of its own
    clearTimeout(this.#timer);
    if (kind === "unknown" && !this.given) this.again();
    else if (kind === "failed" && this.#queue.length) this.#keep();
    else if (kind === "failed" && this.asking) {
      this.#asked = null;
      this.emit("helpless", reason);
      this.#ask(); // the episode goes on from what was kept
    } else this.emit("failed", reason);
  }

  // The server could not write: what was made is kept here, and sent again.
  #keep() {
    this.#live = false;
    this.#unkept = true;
    this.#timer = setTimeout(() => this.#ask(), AGAIN_AFTER);
    this.#changed();
  }

  #changed() {
    this.emit("state", this.state);
  }
}
