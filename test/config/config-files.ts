import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { UsageError } from "../../src/config/values.ts";
import { readServeConfig } from "../../src/hosts/node/config.ts";
import { folderOfTests } from "../folders.ts";

/** Config files of a test file, each in the place of the one before, in a folder that goes with the tests. */
export function configFiles() {
  const folder = folderOfTests();
  const at = (name: string) => join(folder, name);
  const file = (text: string): string => {
    writeFileSync(at("gateway.yaml"), text);
    return at("gateway.yaml");
  };
  const read = (text: string, flags = {}) => readServeConfig({ config: file(text), ...flags });
  return {
    /** The path of a file beside them. */
    at,
    file,
    read,
    /** The message about a wrong config file, without the folder. */
    complaint(text: string): string {
      try {
        read(text);
      } catch (error) {
        expect(error).toBeInstanceOf(UsageError);
        return (error as Error).message.replaceAll(`${folder}/`, "");
      }
      throw new Error("the config file is accepted");
    },
  };
}
