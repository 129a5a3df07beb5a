/** `node test/e2e/servers/tools/install.ts`: gets everything that the end-to-end tests need onto this machine. */
import { ensureTools } from "./tools.ts";

const tools = await ensureTools((line) => console.log(line));
console.log(JSON.stringify(tools, null, 2));
