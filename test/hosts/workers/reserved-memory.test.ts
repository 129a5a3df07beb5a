import { describe, expect, it } from "vitest";
import { ReservedMemory } from "../../../src/hosts/workers/reserved-memory.ts";

describe("the memory that an isolate reserves for its first image", () => {
  it.each([
    { octets: 100, is: "the reserve" },
    { octets: 50, is: "the reserve" },
    { octets: 49, is: "fresh, so that not much more than the image stays" },
    { octets: 101, is: "fresh, since it does not fit" },
  ])("for $octets of 100 octets: $is", ({ octets, is }) => {
    const { allocate } = new ReservedMemory(100);
    expect(allocate(octets).byteLength).toBe(is === "the reserve" ? 100 : octets);
  });

  it("is given once, so that an image and its successor never share it", () => {
    const { allocate } = new ReservedMemory(100);
    const first = allocate(80);
    const second = allocate(80);
    expect(second).not.toBe(first);
    expect(second.byteLength).toBe(80);
  });

  it("is freed if nothing needs it", () => {
    const memory = new ReservedMemory(100);
    memory.release();
    expect(memory.allocate(80).byteLength).toBe(80);
  });

  it("is let go where the first image is a small one", () => {
    const { allocate } = new ReservedMemory(100);
    allocate(1);
    expect(allocate(80).byteLength).toBe(80);
  });
});
