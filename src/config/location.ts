import * as z from "zod";
import { LOCATION_FACTS, type LocationSettings } from "../access/client.ts";
import { ClusterId } from "../snapshot/schema.ts";
import { type Locality, localityView } from "../zone/world.ts";
import { AddressRangeText, count, UsageError } from "./values.ts";

/** The most localities: each adds an order of shards to every name of a federation. */
const MOST_LOCALITIES = 50;

const NAME_A_FACT = `must have at least one of ${LOCATION_FACTS.join(", ")}`;

const codes = (pattern: RegExp, what: string) =>
  z
    .array(z.string().regex(pattern, `must be ${what}`))
    .min(1)
    .max(300)
    .optional();

const When = z
  .strictObject({
    country: codes(/^[A-Za-z][A-Za-z0-9]$/, "a country of two letters, such as CH"),
    continent: codes(
      /^([Aa][FfNnSs]|[Ee][Uu]|[Nn][Aa]|[Oo][Cc]|[Ss][Aa])$/,
      "one of AF, AN, AS, EU, NA, OC, SA",
    ),
    regionCode: codes(/^[A-Za-z0-9-]{1,10}$/, "a code of a country's region, such as TX"),
    colo: codes(/^[A-Za-z]{3}$/, "an airport's code of three letters, such as ZRH"),
  })
  .refine(
    (when) => Object.keys(when).length > 0,
    `${NAME_A_FACT}; without \`when\` a rule fits every client`,
  );

/** The values that a label of a node can have. */
const NodeLabel = z
  .string()
  .max(63)
  .regex(/^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/, "must be a value of a node's label");

const Rule = z
  .strictObject({
    when: When.optional(),
    view: ClusterId.optional(),
    region: NodeLabel.optional(),
    zone: NodeLabel.optional(),
  })
  .refine(
    ({ view, region }) => (view === undefined) !== (region === undefined),
    "must have one of view (a cluster id) and region (as nodes' labels have it)",
  )
  .refine(
    ({ region, zone }) => zone === undefined || region !== undefined,
    "must have the region that the zone is in",
  );

const rules = z
  .array(Rule)
  .min(1)
  .max(1000)
  .superRefine((list, context) => {
    const first = list.findIndex(({ when, view }) => when === undefined && view === undefined);
    if (first >= 0 && first < list.length - 1)
      context.addIssue({
        code: "custom",
        path: [first + 1],
        message: `is never reached: rules[${first}] has no \`when\`, so it fits every client`,
      });
    if (localitiesOf(list).length > MOST_LOCALITIES)
      context.addIssue({
        code: "custom",
        message: `must name at most ${MOST_LOCALITIES} different regions and zones`,
      });
  });

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,100}$/, "must be the name of a header field")
  .optional();

const Headers = z
  .strictObject({ country: headerName, continent: headerName, regionCode: headerName, colo: headerName })
  .refine((headers) => Object.keys(headers).length > 0, NAME_A_FACT);

/** How the client's location decides the view if nothing else does. Default: it does not. */
export const Location = z.discriminatedUnion("source", [
  z.strictObject({ source: z.literal("off") }),
  /** Cloudflare's location of a Worker's request. */
  z.strictObject({ source: z.literal("cf"), rules }),
  /** Header fields of proxies in front of the gateway. */
  z.strictObject({
    source: z.literal("headers"),
    trustedProxies: z.array(AddressRangeText).min(1).max(1000),
    hops: count(1, 10).default(1),
    headers: Headers,
    rules,
  }),
]);

type Location = z.infer<typeof Location>;

/** The setting in the form of the HTTP application. */
export function locationSettings(location: Location): LocationSettings | undefined {
  return location.source === "off" ? undefined : location;
}

/** The distinct localities of the rules. */
export function locationLocalities(location: Location): Locality[] {
  return location.source === "off" ? [] : localitiesOf(location.rules);
}

function localitiesOf(list: readonly z.infer<typeof Rule>[]): Locality[] {
  const localities = list.flatMap(({ region, zone }) => (region === undefined ? [] : [{ region, zone }]));
  return [...new Map(localities.map((locality) => [localityView(locality), locality])).values()];
}

/** @throws {UsageError} if the source is Cloudflare, which reports a location only to Workers */
export function checkLocationFromHeaders(location: Location): void {
  if (location.source === "cf")
    throw new UsageError(
      "location.source: cf is what Cloudflare tells a Worker; here use headers, from a trusted proxy",
    );
}

/**
 * @throws {UsageError} if requests pass more than one proxy: on serverless hosts the address that replaces
 * the socket's may itself be the last entry of X-Forwarded-For
 */
export function checkOneHop(location: Location): void {
  if (location.source === "headers" && location.hops > 1)
    throw new UsageError("CONFIG.location.hops: must be 1: a second proxy cannot be checked on this host");
}
