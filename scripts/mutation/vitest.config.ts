import { defineConfig } from "vitest/config";
import { MUTATED_FOLDERS } from "./folders.ts";

const patterns = (MUTATED_FOLDERS[process.env.MUTATED_FOLDER ?? ""] ?? []).map((pattern) =>
  pattern.endsWith("**") ? `${pattern}/*.test.ts` : pattern,
);

/** The tests of the folder that `npm run mutate` mutates. */
export default defineConfig({
  test: {
    include: patterns.filter((pattern) => !pattern.startsWith("!")),
    exclude: patterns.flatMap((pattern) => (pattern.startsWith("!") ? pattern.slice(1) : [])),
    setupFiles: ["scripts/mutation/set-up.ts"],
    // The bound for a mutant that waits for ever. It does not count as a kill.
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
