import * as z from "zod";

/** A zone's name in text, the trailing dot optional. */
export const ZoneName = z
  .string()
  .regex(
    /^(?=.{1,200}$)[a-z0-9_](?:[-a-z0-9_]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)*\.?$/i,
    "must be a domain name such as clusterset.example.org",
  );
