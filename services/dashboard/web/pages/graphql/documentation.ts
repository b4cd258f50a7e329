/** Types of a schema as the documentation shows them. Pure. */

import {
  getNamedType,
  type GraphQLNamedType,
  type GraphQLSchema,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isScalarType,
} from "graphql";

export type TypeKind = "root" | "object" | "input" | "enum" | "scalar" | "other";

/** A member of a type: a field, an input field or a value. */
export interface Member {
  name: string;
  description: string;
  /** As the schema language writes it, `[Todo!]!`; empty for values. */
  type: string;
  /** The type without lists and marks, which has a page of its own. */
  typeName: string;
  arguments: readonly Omit<Member, "arguments" | "deprecation">[];
  deprecation: string | null;
}

/** Return the types by kind, sorted by name; those of introspection are left out. */
export function typesByKind(schema: GraphQLSchema): ReadonlyMap<TypeKind, readonly GraphQLNamedType[]> {
  const kinds = new Map<TypeKind, GraphQLNamedType[]>();
  const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith("__"));
  for (const type of types.sort((a, b) => a.name.localeCompare(b.name))) {
    const kind = kindOf(type, schema);
    kinds.set(kind, [...(kinds.get(kind) ?? []), type]);
  }
  return kinds;
}

/** Return the types whose name, or the name of a member, contains the text. */
export function findTypes(schema: GraphQLSchema, text: string): readonly { type: string; member: string | null }[] {
  const part = text.trim().toLowerCase();
  if (part === "") return [];
  const hits = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith("__")).flatMap((type) => [
    ...(type.name.toLowerCase().includes(part) ? [{ type: type.name, member: null }] : []),
    ...membersOf(type).filter(({ name }) => name.toLowerCase().includes(part)).map(({ name }) => ({
      type: type.name,
      member: name,
    })),
  ]);
  return hits.sort((a, b) => Number(a.member !== null) - Number(b.member !== null)).slice(0, 200);
}

/** Return the fields, input fields or values of a type. */
export function membersOf(type: GraphQLNamedType): readonly Member[] {
  if (isEnumType(type)) {
    return type.getValues().map((value) => ({
      name: value.name,
      description: value.description ?? "",
      type: "",
      typeName: "",
      arguments: [],
      deprecation: value.deprecationReason ?? null,
    }));
  }
  if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) return [];
  return Object.values(type.getFields()).map((field) => ({
    ...describe(field),
    arguments: "args" in field ? field.args.map(describe) : [],
    deprecation: field.deprecationReason ?? null,
  }));
}

/** Return the names of the interfaces that a type implements, and of the types that an abstract one stands for. */
export function relativesOf(
  type: GraphQLNamedType,
  schema: GraphQLSchema,
): { interfaces: string[]; members: string[] } {
  return {
    interfaces: isObjectType(type) || isInterfaceType(type) ? type.getInterfaces().map(({ name }) => name) : [],
    members: isAbstractType(type) ? schema.getPossibleTypes(type).map(({ name }) => name) : [],
  };
}

function describe(part: { name: string; description?: string | null | undefined; type: unknown }) {
  return {
    name: part.name,
    description: part.description ?? "",
    type: String(part.type),
    typeName: getNamedType(part.type as GraphQLNamedType).name,
  };
}

function kindOf(type: GraphQLNamedType, schema: GraphQLSchema): TypeKind {
  if ([schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].includes(type as never)) {
    return "root";
  }
  if (isObjectType(type)) return "object";
  if (isInputObjectType(type)) return "input";
  if (isEnumType(type)) return "enum";
  return isScalarType(type) ? "scalar" : "other";
}
