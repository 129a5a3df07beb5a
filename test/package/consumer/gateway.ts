// A program that has a gateway within: `clusterset-doh` and `clusterset-doh/snapshot`.
import { createGateway, type GatewaySettings, UsageError } from "clusterset-doh";
import { encodeSnapshot, parseSnapshot } from "clusterset-doh/snapshot";
import { Hono } from "hono";
import { snapshot, TOKEN, TOKEN_SHA256 } from "./snapshot.ts";

const settings: GatewaySettings = { access: { public: true }, zones: ["clusterset.example.org"] };
const logged: string[] = [];
const gateway = await createGateway({
  settings,
  pushCredentials: [{ clusterId: "cluster-a", tokenSha256: TOKEN_SHA256 }],
  client: (context) => ({ address: context.req.header("x-test-address") }),
  log: (_level, event) => logged.push(event),
});
const own = new Hono();
own.get("/hello", (context) => context.text("the program's own path"));
own.route("/", gateway.app);

const push = async (token: string) =>
  own.request("/api/v1/clusters/cluster-a/snapshot", {
    method: "PUT",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
    body: new Blob([...encodeSnapshot(parseSnapshot(snapshot))]),
  });
const rejected = await push("another-token");
const pushed = await push(TOKEN);
const look = async (path: string) => (await own.request(path)).json();
const query = "/resolve?name=web.shop.svc.clusterset.example.org&type=A";
const withoutHono = await gateway.fetch(new Request(`https://doh.example.org${query}`), {
  address: "192.0.2.1",
});

console.log(
  JSON.stringify({
    hello: await (await own.request("/hello")).text(),
    rejected: [rejected.status, ((await rejected.json()) as { code: string }).code],
    pushed: [pushed.status, ((await pushed.json()) as { clusterId: string }).clusterId],
    answer: await look(query),
    withoutHono: await withoutHono.json(),
    missing: (await own.request("/nowhere")).status,
    logged: logged.length > 0,
    wrong: await createGateway({ settings: { access: {} } }).catch((error: unknown) =>
      error instanceof UsageError ? error.message : "another error",
    ),
  }),
);
await gateway.close();
