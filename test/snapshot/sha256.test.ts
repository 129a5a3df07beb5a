import { createHash } from "node:crypto";
import { afterEach, expect, it, vi } from "vitest";

afterEach(() => {
  vi.restoreAllMocks();
  vi.resetModules();
});

it.each([true, false])(
  "SHA-256 is that of Node, also in pieces, with the host's own: %s",
  async (isNative) => {
    if (!isNative) vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined as never);
    const { createSha256, sha256Of } = await import("../../src/snapshot/parse.ts");
    expect(createSha256() instanceof createHash("sha256").constructor).toBe(isNative);
    const bytes = Uint8Array.from({ length: 1000 }, (_, index) => index);
    const hash = createSha256();
    for (let at = 0; at < bytes.length; at += 77) hash.update(bytes.subarray(at, at + 77));
    const digest = createHash("sha256").update(bytes).digest("hex");
    expect([hash.digest(), sha256Of(bytes)].map((one) => Buffer.from(one).toString("hex"))).toEqual([
      digest,
      digest,
    ]);
  },
);
