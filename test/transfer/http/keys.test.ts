import { createHash, createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type Signed, TransferKeys } from "../../../src/transfer/signature.ts";

const KEY = "k".repeat(43);
const body = Uint8Array.of(1, 2, 3);
const part = { kind: "part", path: "key?zone=clusterset&v=1-2" } as const;
const state = { kind: "state", nonce: "0".repeat(32), scope: '{"clusters":["west"]}' } as const;

describe("a signature", () => {
  it.each<[Signed, readonly string[]]>([
    [part, ["part", part.path]],
    [state, ["state", state.nonce, state.scope]],
  ])("is an HMAC-SHA-256 of what docs/reference/transfer.md says: %j", async (signed, fields) => {
    const digest = createHash("sha256").update(body).digest("hex");
    const message = JSON.stringify(["clusterset-doh transfer", ...fields, digest]);
    const expected = createHmac("sha256", KEY).update(message).digest("hex");
    expect(await new TransferKeys([KEY]).sign(signed, body)).toBe(expected);
  });

  it("is 64 hexadecimal digits, and nothing before or behind them", async () => {
    const keys = new TransferKeys([KEY]);
    const signature = await keys.sign(part, body);
    await keys.verify(signature, part, body);
    for (const wrong of [`00${signature}`, `${signature}00`, signature.slice(2), "", "zz"])
      await expect(keys.verify(wrong, part, body)).rejects.toThrow(/the primary's part is wrong/);
    await expect(keys.verify(null, state, body)).rejects.toThrow(
      "the primary does not sign its state: give it transfer.keyFile",
    );
  });
});
