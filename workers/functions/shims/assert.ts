// std/assert/mod.ts: the part that code outside of tests uses.
import { isDeepStrictEqual } from "node:util";

export class AssertionError extends Error {
  override name = "AssertionError";
}

export function assert(value: unknown, message = ""): asserts value {
  if (!value) throw new AssertionError(message);
}
export function fail(message?: string): never {
  throw new AssertionError(`Failed assertion${message ? `: ${message}` : "."}`);
}
export function unreachable(message = "unreachable"): never {
  throw new AssertionError(message);
}
const check = (holds: boolean, usual: string, message?: string) => assert(holds, message ?? usual);
const shown = (value: unknown) => Deno.inspect(value);

export const equal = (one: unknown, other: unknown): boolean => isDeepStrictEqual(one, other);
export function assertEquals(actual: unknown, expected: unknown, message?: string): void {
  check(equal(actual, expected), `Values are not equal: ${shown(actual)} and ${shown(expected)}`, message);
}
export function assertNotEquals(actual: unknown, expected: unknown, message?: string): void {
  check(!equal(actual, expected), `Both values are ${shown(actual)}`, message);
}
export function assertStrictEquals(actual: unknown, expected: unknown, message?: string): void {
  check(Object.is(actual, expected), `Values are not strictly equal: ${shown(actual)} and ${shown(expected)}`, message);
}
export function assertExists(actual: unknown, message?: string): void {
  check(actual !== undefined && actual !== null, `${shown(actual)} should not be null or undefined`, message);
}
export function assertStringIncludes(actual: string, expected: string, message?: string): void {
  check(actual.includes(expected), `${shown(actual)} does not contain ${shown(expected)}`, message);
}
export function assertMatch(actual: string, expected: RegExp, message?: string): void {
  check(expected.test(actual), `${shown(actual)} does not match ${expected}`, message);
}
export function assertInstanceOf(actual: unknown, expected: any, message?: string): void {
  check(actual instanceof expected, `${shown(actual)} is no ${expected.name}`, message);
}
export function assertThrows(call: () => unknown, kind: any = Error, includes = "", message?: string): unknown {
  try {
    call();
  } catch (error) {
    check(error instanceof kind && String((error as Error).message ?? "").includes(includes), `Another error: ${shown(error)}`, message);
    return error;
  }
  throw new AssertionError(message ?? "Expected function to throw.");
}
export async function assertRejects(call: () => Promise<unknown>, kind: any = Error, includes = "", message?: string): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return assertThrows(() => { throw error; }, kind, includes, message);
  }
  throw new AssertionError(message ?? "Expected function to reject.");
}
