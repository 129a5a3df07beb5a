import * as z from "zod";
import { countOf, text } from "./issuer.ts";

/** A client certificate by a subject alternative name, by its fingerprint, or by both. */
export const Certificate = z
  .strictObject({
    san: text.optional(),
    fingerprintSha256: z
      .string()
      .regex(
        /^(?:[0-9a-f]{2}:?){31}[0-9a-f]{2}$/i,
        "must be 32 bytes in hex, as openssl x509 -fingerprint -sha256 prints them",
      )
      .optional(),
  })
  .refine((value) => countOf(value, ["san", "fingerprintSha256"]) > 0, "must have san or fingerprintSha256");
