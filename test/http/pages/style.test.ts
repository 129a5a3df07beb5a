import { describe, expect, it } from "vitest";
import { STYLE } from "../../../src/http/pages/page.ts";

/** The colours of one scheme, by their names. */
function colours(block: string): Record<string, string> {
  return Object.fromEntries(
    [...block.matchAll(/--(\w+):(#[0-9a-f]{3,6})/g)].map(([, name, value]) => [name, value!]),
  );
}

/** Relative luminance (WCAG 2.2, definitions). */
function luminance(colour: string): number {
  const hex = colour.length === 4 ? colour.slice(1).replace(/./g, "$&$&") : colour.slice(1);
  const [red, green, blue] = [0, 2, 4].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

const [light, dark] = STYLE.split("@media (prefers-color-scheme:dark)") as [string, string];

describe.each([
  ["light", colours(light)],
  ["dark", colours(dark)],
])("the %s colours", (_, scheme) => {
  it.each(["text", "soft", "link", "good", "bad"])(
    "--%s has enough contrast on both backgrounds (WCAG 2.2, 1.4.3)",
    (name) => {
      for (const background of ["page", "box"])
        expect(contrast(scheme[name]!, scheme[background]!), background).toBeGreaterThanOrEqual(4.5);
    },
  );

  it("a button's text and a field's border have enough contrast (1.4.3, 1.4.11)", () => {
    expect(contrast(scheme.page!, scheme.link!)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(scheme.soft!, scheme.page!)).toBeGreaterThanOrEqual(3);
  });
});

it("black on white has a contrast of 21 to 1", () => {
  expect(contrast("#000", "#ffffff")).toBeCloseTo(21);
});
