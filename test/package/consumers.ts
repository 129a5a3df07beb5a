import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { buildSync } from "esbuild";
import ts from "typescript";
import { blocksIn } from "../docs/pages.ts";
import type { PackedPackage } from "./packed-package.ts";

/** The libraries of a program without Node: the ones of a browser. */
export const WEB = ["lib.es2024.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"];

/** The programs of docs/how-to/embed.md, in its order. */
export const ON_PAGE = ["page-gateway.ts", "page-resolve.ts", "worker.ts"];

/** How a consumer compiles. */
interface Compilation {
  /** `nodenext` resolves as Node does, `esnext` as bundlers do. */
  readonly module: "nodenext" | "esnext";
  /** Packages with global types. */
  readonly types: readonly string[];
  /** Default: ECMAScript only. */
  readonly lib?: readonly string[];
  readonly emit?: boolean;
}

/** Compiles programs of `consumer/`, strictly, with the package's declarations checked. */
export function typesOf(packed: PackedPackage, programs: readonly string[], compilation: Compilation) {
  const { module, types, lib = ["lib.es2024.d.ts"], emit = false } = compilation;
  const folder = copyConsumers(packed);
  const isNode = module === "nodenext";
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2024,
    module: isNode ? ts.ModuleKind.NodeNext : ts.ModuleKind.ESNext,
    moduleResolution: isNode ? ts.ModuleResolutionKind.NodeNext : ts.ModuleResolutionKind.Bundler,
    lib: [...lib],
    types: [...types],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    rewriteRelativeImportExtensions: true,
    noEmit: !emit,
    outDir: join(folder, "out"),
    rootDir: folder,
  };
  const files = programs.map((program) => join(folder, program));
  const compiled = ts.createProgram(files, options);
  const isOurs = ({ file }: ts.Diagnostic) => file === undefined || file.fileName.startsWith(packed.folder);
  const errors = ts
    .getPreEmitDiagnostics(compiled)
    .filter(isOurs)
    .map(({ file, start, messageText }) => {
      const line = file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line + 1 : 0;
      return `${file?.fileName}:${line}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
    });
  if (emit) compiled.emit();
  return { errors, scriptOf: (program: string) => join(folder, "out", program.replace(/\.ts$/, ".js")) };
}

/** Bundles a program as for a browser. @returns the script, and the imports that are left in it */
export function bundleConsumer(packed: PackedPackage, program: string) {
  const folder = copyConsumers(packed);
  const script = join(folder, "bundle", program.replace(/\.ts$/, ".mjs"));
  const { metafile } = buildSync({
    entryPoints: [join(folder, program)],
    outfile: script,
    absWorkingDir: folder,
    bundle: true,
    format: "esm",
    platform: "browser",
    metafile: true,
    external: [...builtinModules, "node:*"],
    logLevel: "error",
  });
  const outside = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path));
  return { script, outside };
}

/** Runs a compiled consumer to its end. @returns the JSON that it printed */
export function runConsumer(script: string): unknown {
  return JSON.parse(execFileSync(process.execPath, [script], { encoding: "utf8" }));
}

/** The programs, in the folder whose `node_modules` have the package. */
function copyConsumers({ folder }: PackedPackage): string {
  const consumers = join(folder, "consumer");
  mkdirSync(consumers, { recursive: true });
  cpSync(join(import.meta.dirname, "consumer"), consumers, { recursive: true });
  for (const [index, name] of ON_PAGE.entries())
    writeFileSync(join(consumers, name), blocksIn("docs/how-to/embed.md", "ts")[index]!);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "consumer", type: "module" }));
  return consumers;
}

/** A Wrangler configuration for the Worker of `consumer/`, after the one of this checkout. */
export function wranglerConfig(packed: PackedPackage, checkout: string): string {
  const file = join(copyConsumers(packed), "wrangler.toml");
  const own = readFileSync(join(checkout, "wrangler.toml"), "utf8");
  const changed = own
    .replace(/^main = .*$/m, 'main = "worker.ts"')
    .replace(/^directory = "/m, 'directory = "../node_modules/clusterset-doh/');
  writeFileSync(file, changed.replace(/^#:schema.*\n/, ""));
  return file;
}
