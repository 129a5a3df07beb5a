/** The version of this package, as in package.json: no host needs a file for it. */
export const VERSION = "0.1.0";
