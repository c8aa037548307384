// The page of one world: its settings are in the address.

import { make, playAddress, shortName } from "./elements.js";
import { Player } from "./player.js";
import { Connection, Session } from "./session.js";

async function open() {
  const name = decodeURIComponent(location.pathname.split("/")[2]);
  const settings = Object.fromEntries(new URLSearchParams(location.search));
  const connection = new Connection(); // while the worlds are asked for
  const session = new Session(connection, { world: name, settings });
  const { worlds } = await (await fetch("/api/worlds")).json();
  const world = worlds.find((one) => one.name === name);
  document.title = `${world.title} - gumption`;
  document.getElementById("title").textContent = world.title;
  document.getElementById("about").textContent = world.about;
  if (world.environments.length > 1) variants(world, settings.env ?? world.environments[0]);
  const player = document.getElementById("player");
  new Player(player, session, { view: world.view });
  session.start();
}

function variants(world, env) {
  const links = world.environments.map((id, index) =>
    make(
      "a",
      { class: "button", href: playAddress(world.name, index ? id : null), "aria-current": id === env ? "page" : null },
      shortName(id),
    ),
  );
  const row = document.getElementById("variants");
  row.append(...links);
  row.hidden = false;
}

open().catch((error) => {
  const told = `This world cannot be opened (${error.message}). Load the page again once the server runs.`;
  document.getElementById("player").replaceChildren(make("p", { class: "note bad", role: "alert" }, told));
});
