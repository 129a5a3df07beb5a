import * as z from "zod";

const text = z.string();

/** A service and how it comes about. */
export const ExplainedService = z.object({
  namespace: text,
  name: text,
  type: z.enum(["ClusterSetIP", "Headless"]),
  exporters: z
    .array(
      z.object({
        clusterId: text,
        stated: text.meta({ description: "The creation time that the cluster states." }),
        exportedTo: z.array(text).optional().meta({
          description:
            "The clusters that its ServiceExport names (kubernetes/enhancements#6329); absent: all.",
        }),
        endpoints: z.int().min(0).meta({
          description:
            "How many may be answered with: those that are ready, or published although they are not.",
        }),
        countsFrom: text.optional().meta({
          description:
            "From when its export counts (RFC 3339, in whole seconds), where that is not what it states.",
        }),
        because: text.optional(),
      }),
    )
    .meta({ description: "In order of precedence." }),
  importers: z.array(text),
  properties: z.array(
    z.object({
      property: text,
      value: text,
      decidedBy: text.optional().meta({ description: "A cluster id; absent for a setting of the gateway." }),
      because: text,
      otherwise: z
        .array(z.object({ clusterId: text, value: text }))
        .meta({ description: "Values that were set aside." }),
    }),
  ),
  addresses: text.meta({ description: "Where its addresses in this view come from, as a sentence." }),
});

/** A value that is written in the form of a schema. */
export type Written<Schema extends z.ZodType> = Readable<z.infer<Schema>>;

type Readable<Value> = Value extends readonly (infer Element)[]
  ? readonly Readable<Element>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: Readable<Value[Key]> }
    : Value;
