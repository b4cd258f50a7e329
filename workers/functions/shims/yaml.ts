// std/yaml/mod.ts by the package of the same purpose.
export { parse, parseAllDocuments as parseAll, stringify } from "npm:yaml@2";
