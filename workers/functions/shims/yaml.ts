// std/yaml/mod.ts based on an npm package.
export { parse, parseAllDocuments as parseAll, stringify } from "npm:yaml@2";
