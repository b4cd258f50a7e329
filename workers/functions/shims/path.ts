// std/path/mod.ts: node:path, plus the functions that only the standard library has.
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const { basename, delimiter, dirname, extname, format, isAbsolute, join, normalize, parse, posix, relative, resolve, sep, toNamespacedPath, win32 } = path;
export const SEP = sep;
export const SEPARATOR = sep;
export const DELIMITER = delimiter;
export const fromFileUrl = (url: string | URL): string => fileURLToPath(url);
export const toFileUrl = (name: string): URL => pathToFileURL(name);
export default path;
