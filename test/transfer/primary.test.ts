import { describe, expect, it } from "vitest";
import { LeaseTables } from "../../src/gateway/leases/lease-tables.ts";
import type { ServedImage } from "../../src/gateway/stages.ts";
import { Primary } from "../../src/transfer/primary.ts";

const MEBIBYTE = 1024 * 1024;

/** A primary whose gateway serves one image after the other. */
function openPrimary(keptBytes?: number) {
  const held = { now: 1_000_000, image: undefined as ServedImage | undefined };
  const primary = new Primary(
    {
      status: () => ({
        ready: held.image !== undefined,
        imageHash: held.image?.contentHash,
        imageBytes: held.image?.bytes.length ?? 0,
        services: 0,
        clusters: [],
        conflicts: [],
        findings: [],
      }),
      current: () =>
        held.image && {
          image: held.image,
          leases: new LeaseTables(() => undefined),
          services: 0,
          conflicts: [],
          findings: [],
        },
    },
    () => held.now,
    keptBytes,
  );
  const serve = (contentHash: string, octets = 4) => {
    held.image = { contentHash, bytes: new Uint8Array(octets), byteLength: octets };
    return held.image.bytes;
  };
  return { primary, held, serve };
}

describe("images that states named", () => {
  it("are there under a storm of changes, each for as long as a secondary needs", () => {
    const { primary, held, serve } = openPrimary();
    for (let change = 0; change < 500; change++) {
      const bytes = serve(`image-${change}`);
      primary.state();
      held.now += 10;
      if (change >= 50) expect(primary.image(`image-${change - 50}`)).toBeDefined();
      expect(primary.image(`image-${change}`)).toBe(bytes);
    }
    held.now += 10_000;
    expect(primary.image("image-498")).toBeUndefined();
    expect(primary.image("image-499")).toBeDefined();
  });

  it("that nobody was told of are not kept", () => {
    const { primary, serve } = openPrimary();
    serve("one");
    serve("other");
    expect(primary.image("one")).toBeUndefined();
  });

  it("take no more room than they may", () => {
    const { primary, serve } = openPrimary(16 * MEBIBYTE);
    for (const name of ["one", "two", "three", "four"]) {
      serve(name, 7 * MEBIBYTE);
      primary.state();
    }
    expect(["one", "two", "three", "four"].map((name) => primary.image(name) !== undefined)).toEqual([
      false,
      true,
      true,
      true,
    ]);
  });

  it("an image larger than that is served as long as it is the newest", () => {
    const { primary, serve } = openPrimary(MEBIBYTE);
    serve("large", 2 * MEBIBYTE);
    primary.state();
    expect(primary.image("large")).toBeDefined();
    serve("next", 2 * MEBIBYTE);
    primary.state();
    expect(primary.image("large")).toBeUndefined();
    expect(primary.image("next")).toBeDefined();
  });
});

it("a primary that is not ready serves no image", () => {
  const { primary } = openPrimary();
  expect(primary.state()).toMatchObject({ status: { ready: false } });
  expect(primary.image("any")).toBeUndefined();
});
