import { openStateDatabase } from "../../../src/hosts/node/database/state-database.ts";

/** `<state folder>`: opens its database, and holds it for ever. */
const database = await openStateDatabase(process.argv[2]!, (_, event) => console.error(event));
console.log("open");
// A connection that nothing refers to any more is closed.
setInterval(() => database.path, 1 << 30);
