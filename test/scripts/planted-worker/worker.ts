import { greet } from "./greeting.ts";

export default { fetch: () => new Response(greet()) };
