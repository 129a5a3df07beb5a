import { expect, it } from "vitest";
import { parseKubernetesYaml } from "../../src/worker/kubernetes-yaml.ts";
import { SCALARS } from "./yaml-scalars.ts";

const read = (text: string) => {
  const [document] = parseKubernetesYaml(text);
  return { value: document!.toJS() as unknown, errors: document!.errors.length };
};

it.each(SCALARS)("YAML is read as by kubectl: %s is %j", (text, json) => {
  expect(read(`v: ${text}`)).toEqual({ value: { v: json }, errors: 0 });
});

it("YAML has numbers of JSON alone, keys that are text, and << merges", () => {
  for (const text of [".inf", "-.INF", ".nan"]) expect(read(`v: ${text}`).errors).toBe(1);
  const value = { true: 1, 1: "a", 1.5: "b", merged: 1 };
  expect(read("{on: 1, 1: a, 1.5: b, <<: {merged: 1}}")).toEqual({ value, errors: 0 });
});
