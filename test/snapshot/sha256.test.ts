import { afterEach, describe, expect, it, vi } from "vitest";

/**
 * FIPS 180-4 examples (NIST, "Cryptographic Standards and Guidelines, Examples with Intermediate Values"),
 * and the empty text.
 */
const EXAMPLES = [
  ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
  ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
  [
    "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
  ],
] as const;

const encode = (text: string) => new TextEncoder().encode(text);
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

const HOSTS = [
  ["with the host's own implementation", () => {}],
  ["without one", () => vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined as never)],
] as const;

afterEach(() => {
  vi.restoreAllMocks();
  vi.resetModules();
});

describe.each(HOSTS)("SHA-256 %s", (_, prepare) => {
  it.each(EXAMPLES)("of %j", async (text, expected) => {
    prepare();
    const { sha256Of } = await import("../../src/snapshot/parse.ts");
    expect(hex(sha256Of(encode(text)))).toBe(expected);
  });

  it("is the same for bytes in pieces", async () => {
    prepare();
    const { createSha256, sha256Of } = await import("../../src/snapshot/parse.ts");
    const bytes = Uint8Array.from({ length: 1000 }, (_, index) => index);
    const hash = createSha256();
    for (let at = 0; at < bytes.length; at += 77) hash.update(bytes.subarray(at, at + 77));
    expect(hex(hash.digest())).toBe(hex(sha256Of(bytes)));
  });
});

it("is the host's own implementation on Node", async () => {
  const { createHash } = await import("node:crypto");
  const { createSha256 } = await import("../../src/snapshot/parse.ts");
  expect(createSha256()).toBeInstanceOf(createHash("sha256").constructor);
});
