import { html } from "hono/html";
import { copied } from "../links.ts";
import type { Html } from "../page.ts";
import type { ServiceFacts } from "./service-facts.ts";

/** The most zones, ports and endpoints whose names the page shows, of each. */
const MOST_NAMES = 20;

/** A name with the types of its records, and what it is for. */
interface NameToAsk {
  readonly name: string;
  /** The first one is looked up. */
  readonly types: readonly string[];
  readonly what: string;
}

/** The names of a service, of its ports and of its endpoints, each with a button to copy it and a link to look it up. */
export function nameList(facts: ServiceFacts, zones: readonly string[]): Html {
  const { namespace, name, view, listing, endpoints, addresses } = facts;
  const own = `${name}.${namespace}.svc`;
  const families = [...new Set(addresses.map(({ type }) => type))];
  const types = families.length === 0 ? ["A"] : families;
  const ports = listing?.ports ?? [];
  const all: readonly (readonly NameToAsk[])[] = [
    zones.map((zone) => ({ name: `${own}.${zone}`, types, what: "all addresses" })),
    ports.map((port) => ({
      ...{ name: `${port.name}.${own}.${zones[0]!}`, types: ["SRV"] },
      what: `port ${port.number}`,
    })),
    endpoints.map((target) => ({ name: target.replace(/\.$/, ""), types, what: "one endpoint" })),
  ];
  const rest = all.reduce((count, names) => count + Math.max(0, names.length - MOST_NAMES), 0);
  return html`<ul class="list names">${all
    .flatMap((names) => names.slice(0, MOST_NAMES))
    .map((one) => item(one, view))}</ul>${rest > 0 ? html`<p class="hint">${rest} more.</p>` : ""}`;
}

function item({ name, types, what }: NameToAsk, view: string | undefined): Html {
  const search = new URLSearchParams({ name, type: types[0]!, ...(view !== undefined && { view }) });
  return html`<li>${copied(name)}
<span class="soft">${types.join(", ")}: ${what}</span> <a href="/?${search.toString()}#answer" aria-label="Look up ${name}">Look up</a></li>`;
}
