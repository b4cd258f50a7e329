/** What a query text asks for. Pure. */

import { Kind, parse } from "graphql";
import { parsedObject } from "../../components/jsonText.ts";

/** Return the names of the operations of a query; none if it cannot be parsed, or has one without a name. */
export function operationsOf(query: string): readonly string[] {
  try {
    return parse(query, { noLocation: true }).definitions.flatMap((definition) =>
      definition.kind === Kind.OPERATION_DEFINITION && definition.name ? [definition.name.value] : []
    );
  } catch {
    return [];
  }
}

/** Return the variables of a text, undefined for an empty one. Throws Error with `message` unless it is a JSON object. */
export function parsedVariables(text: string, message: string): { [name: string]: unknown } | undefined {
  if (text.trim() === "") return undefined;
  const value = parsedObject(text);
  if (value === null) throw new Error(message);
  return value;
}
