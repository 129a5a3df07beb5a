import * as z from "zod";
import { Degradations } from "../degradation.ts";
import { ClusterId, ClusterSnapshot } from "../schema.ts";
import { COLLECTIONS, SINGLES } from "../snapshot-error.ts";
import { LINES_FORMAT_VERSION } from "./patch-line.ts";

const Header = z
  .strictObject({
    formatVersion: z.literal(LINES_FORMAT_VERSION),
    clusterId: ClusterId,
    degraded: Degradations.optional(),
  })
  .meta({ description: "The first line." });

const End = z
  .strictObject({
    lines: z.int().min(1).meta({ description: "Lines before this one." }),
    sha256: z
      .string()
      .regex(/^[0-9A-Fa-f]{64}$/)
      .meta({ description: "SHA-256 of all bytes before this line, in hex." }),
  })
  .meta({ description: "The last line." });

const removed = z.null().meta({ description: "Removes it." });
const patch = z
  .record(z.string(), z.unknown())
  .meta({ description: "An RFC 7396 merge patch on the entry, or a further piece of a large one." });

const entries = COLLECTIONS.map((name) => {
  const given = ClusterSnapshot.shape[name];
  const table = "keyType" in given ? given : given.unwrap();
  return z.tuple([z.literal(name), z.string(), z.union([table.valueType as z.ZodType, patch, removed])]);
});
const singles = SINGLES.map((name) =>
  z.tuple([z.literal(name), z.union([ClusterSnapshot.shape[name].unwrap(), patch, removed])]),
);

/** One line of a push, for the JSON Schema; `Stage` validates what is pushed. */
export const SnapshotLine = z.union([Header, ...entries, ...singles, End]);
