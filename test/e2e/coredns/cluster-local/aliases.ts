import { endpoint } from "../worlds/services.ts";
import { alias, type OwnService, ownSlice } from "./services.ts";

const own = (name: string, target: string) => alias("aliases", name, target);
const inZone = (name: string, target: string) => own(name, `${target}.cluster.local`);
const links = Array.from({ length: 10 }, (_, index) => index);

/** Services of type ExternalName in the namespace `aliases`. */
export const aliases: OwnService[] = [
  own("outside", "www.example.com"),
  own("one-label", "your-service"),
  own("v4-text", "192.0.2.9"),
  inZone("to-service", "web.shop.svc"),
  inZone("to-v4", "v4.shop.svc"),
  inZone("to-v6", "v6.shop.svc"),
  inZone("to-headless", "db.data.svc"),
  inZone("to-endpoint", "db-0.db.data.svc"),
  inZone("to-not-ready", "all-eager.data.svc"),
  inZone("to-idle", "idle.data.svc"),
  inZone("to-missing", "nothing.shop.svc"),
  inZone("to-missing-namespace", "web.missing.svc"),
  inZone("to-gone", "web.gone.svc"),
  inZone("to-namespace", "shop.svc"),
  own("to-zone", "cluster.local"),
  inZone("to-version", "dns-version"),
  inZone("to-pod", "10-50-0-1.shop.pod"),
  inZone("to-alias", "to-service.aliases.svc"),
  inZone("to-alias-outside", "outside.aliases.svc"),
  inZone("to-alias-missing", "to-missing.aliases.svc"),
  inZone("itself", "itself.aliases.svc"),
  inZone("ring-a", "ring-b.aliases.svc"),
  inZone("ring-b", "ring-c.aliases.svc"),
  inZone("ring-c", "ring-a.aliases.svc"),
  inZone("into-ring", "ring-a.aliases.svc"),
  ...links.map((index) =>
    inZone(`link-${index}`, index === 9 ? "web.shop.svc" : `link-${index + 1}.aliases.svc`),
  ),
  own("to-clusterset", "web.clusterset.svc.clusterset.local"),
  own("to-clusterset-missing", "nothing.clusterset.svc.clusterset.local"),
  {
    ...own("with-slices", "www.example.com"),
    slices: [ownSlice([{ name: "http", port: 80 }], endpoint("10.53.0.1", "a0"))],
  },
  {
    ...own("renamed", "your-service.your-cluster.example"),
    annotations: { "clusterset-doh.dev/name": "my-service.my-cluster" },
  },
];

/** The dotted name that `renamed` owns instead of its own. */
export const ownedNames: ReadonlyMap<string, string> = new Map([["renamed", "my-service.my-cluster"]]);
