import { defineConfig } from "vitest/config";
import { MUTATED_FOLDERS } from "./folders.ts";

const folder = process.env.MUTATED_FOLDER ?? "";

/** The tests of the folder that `npm run mutate` mutates. */
export default defineConfig({
  test: {
    include: [...(MUTATED_FOLDERS[folder] ?? [])].map((pattern) =>
      pattern.endsWith("**") ? `${pattern}/*.test.ts` : pattern,
    ),
    setupFiles: ["scripts/mutation/set-up.ts"],
    testTimeout: 60_000,
  },
});
