import { COLLECTIONS } from "../../../../src/snapshot/parse.ts";
import { headerLine, sealed } from "../../../snapshot/lines/push-lines.ts";
import { headlessExport } from "../../../snapshot/worlds.ts";

/** Members that every object has without being given them. */
export const PROTOTYPE_NAMES = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "valueOf",
];
/** What would be seen of every object if one of these bodies reached `Object.prototype`. */
export const POLLUTED = "polluted";

const VALUES = [`{"${POLLUTED}":true}`, `{"prototype":{"${POLLUTED}":true}}`, `"${POLLUTED}"`, "null", "{}"];
const TABLES: ReadonlySet<string> = new Set(COLLECTIONS);
const EXPORT = JSON.stringify(headlessExport(1));

/** Where in a snapshot such a name may stand, with what fits there beside values that do not. */
const PLACES: [string, (member: string) => string, readonly string[]][] = [
  ["the snapshot", (member) => member, []],
  ["namespaces", (member) => `"namespaces":{${member}}`, ["{}"]],
  ["exports", (member) => `"exports":{${member}}`, [EXPORT]],
  ["services", (member) => `"services":{${member}}`, []],
  ["pods", (member) => `"pods":{${member}}`, ["{}"]],
  ["findings", (member) => `"findings":{${member}}`, []],
  ["an export", (member) => `"exports":{"shop/web":{${EXPORT.slice(1, -1)},${member}}}`, []],
  [
    "its labels",
    (member) => `"exports":{"shop/web":{${EXPORT.slice(1, -1)},"exportedLabels":{${member}}}}`,
    ['"x"'],
  ],
  [
    "its groups of endpoints",
    (member) => `"exports":{"shop/web":{${EXPORT.slice(1, -1)},"endpoints":{${member}}}}`,
    [],
  ],
  [
    "its endpoints",
    (member) =>
      `"exports":{"shop/web":{${EXPORT.slice(1, -1)},"endpoints":{"*":{"ports":[],"members":{${member}}}}}}`,
    ['{"address":"10.9.9.9"}'],
  ],
  [
    "the source clusters of an import",
    (member) => `"imports":{"shop/web":{"ips":[],"ports":[],"endpoints":{${member}}}}`,
    ["{}"],
  ],
];

/** A member of a snapshot, or of a delta, in which such names stand. */
export interface PrototypeBody {
  readonly title: string;
  readonly members: string;
}

/** The names at every place of a snapshot, alone and as parts of keys that have two. */
export const prototypeBodies: readonly PrototypeBody[] = PLACES.flatMap(([place, put, fitting]) =>
  PROTOTYPE_NAMES.flatMap((name) =>
    [name, `${name}/${name}`, `shop/${name}`].flatMap((key) =>
      [...VALUES, ...fitting].map((value) => ({
        title: `${key} in ${place}: ${value.slice(0, 40)}`,
        members: put(`"${key}":${value}`),
      })),
    ),
  ),
);

/** A push, of a whole snapshot or of changes, with these members. */
export function pushWith(clusterId: string, members: string): string {
  return sealed(headerLine(clusterId), ...linesWith(members));
}

/** A push whose first line has a member of such a name. */
export function pushWithPrototypeInHeader(clusterId: string): string {
  return sealed(headerLine(clusterId).replace(/\}$/, `,"__proto__":{"${POLLUTED}":true}}`));
}

/** Lines with what the members of a snapshot say; each key of a table is one of a line. */
function linesWith(members: string): string[] {
  const snapshot = JSON.parse(`{${members}}`) as Record<string, unknown>;
  return Object.entries(snapshot).flatMap(([name, table]) =>
    typeof table === "object" && table !== null && TABLES.has(name)
      ? Object.entries(table).map(([key, value]) => JSON.stringify([name, key, value]))
      : [JSON.stringify([name, table])],
  );
}
