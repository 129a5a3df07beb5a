import { describe, expect, it } from "vitest";
import { isLabelValue, isQualifiedName } from "../../../src/snapshot/desired/qualified-name.ts";

// "Labels and Selectors" of the Kubernetes documentation, "Syntax and character set".
describe("a label's key", () => {
  it.each([
    ["app", true],
    ["a", true],
    ["App_2.x-y", true],
    ["a".repeat(63), true],
    ["a".repeat(64), false],
    ["", false],
    ["-app", false],
    ["app-", false],
    ["app.", false],
    ["größe", false],
    ["example.org/app", true],
    ["a/a", true],
    ["e-x.example.org/app", true],
    [`${"a".repeat(253)}/app`, true],
    [`${"a".repeat(254)}/app`, false],
    ["example.org/", false],
    ["/app", false],
    ["Example.org/app", false],
    ["example..org/app", false],
    [".example.org/app", false],
    ["example.org./app", false],
    ["-example.org/app", false],
    ["example-.org/app", false],
    ["a_b/app", false],
    ["example.org/app/x", false],
    ["example.org/-", false],
  ])("%j is valid: %s", (text, expected) => {
    expect(isQualifiedName(text)).toBe(expected);
  });
});

describe("a label's value", () => {
  it.each([
    ["", true],
    ["web", true],
    ["Web_2.x-y", true],
    ["a".repeat(63), true],
    ["a".repeat(64), false],
    ["a/b", false],
    ["-", false],
    [" ", false],
  ])("%j is valid: %s", (text, expected) => {
    expect(isLabelValue(text)).toBe(expected);
  });
});
