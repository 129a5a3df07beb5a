import { defineConfig } from "vitest/config";
import { foldersTests } from "./folders.ts";

/** The tests of the folder that `npm run mutate` mutates. */
export default defineConfig({
  test: {
    ...foldersTests(process.env.MUTATED_FOLDER ?? ""),
    setupFiles: ["scripts/mutation/set-up.ts"],
    // The bound for a mutant that waits for ever. It does not count as a kill.
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
