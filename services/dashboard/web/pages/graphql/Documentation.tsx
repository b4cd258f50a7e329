import { type GraphQLNamedType, type GraphQLSchema, isEnumType, isInputObjectType } from "graphql";
import { useState } from "react";
import { Badge } from "../../components/basics.tsx";
import { SearchField } from "../../components/Field.tsx";
import { EmptyState } from "../../components/states.tsx";
import { findTypes, type Member, membersOf, relativesOf, type TypeKind, typesByKind } from "./documentation.ts";
import { graphqlTexts } from "./texts.ts";

const texts = graphqlTexts.types;
const kinds: readonly TypeKind[] = ["root", "object", "input", "enum", "scalar", "other"];

/** The types of the schema: a list with a search, and one type with its fields. */
export function Documentation({ schema, typeName, onOpen }: {
  schema: GraphQLSchema;
  typeName: string | undefined;
  /** Null is the list. */
  onOpen: (type: string | null) => void;
}) {
  const [part, setPart] = useState("");
  const type = typeName === undefined ? undefined : schema.getType(typeName);
  return (
    <div className="graphql-docs">
      <SearchField label={texts.search} value={part} onChange={setPart} />
      {part.trim() !== ""
        ? <Hits schema={schema} part={part} onOpen={onOpen} />
        : type
        ? <TypeView schema={schema} type={type} onOpen={onOpen} />
        : (
          <>
            {typeName !== undefined && <EmptyState title={texts.gone(typeName)} />}
            <TypeList schema={schema} onOpen={onOpen} />
          </>
        )}
    </div>
  );
}

type Open = (type: string | null) => void;

function TypeList({ schema, onOpen }: { schema: GraphQLSchema; onOpen: Open }) {
  const types = typesByKind(schema);
  return kinds.filter((kind) => types.has(kind)).map((kind) => (
    <section key={kind}>
      <h2 className="graphql-kind">{texts.kinds[kind]}</h2>
      <ul className="graphql-types">
        {types.get(kind)!.map(({ name }) => (
          <li key={name}>
            <TypeButton name={name} onOpen={onOpen} />
          </li>
        ))}
      </ul>
    </section>
  ));
}

function Hits({ schema, part, onOpen }: { schema: GraphQLSchema; part: string; onOpen: Open }) {
  const hits = findTypes(schema, part);
  if (hits.length === 0) return <p className="soft" role="status">{texts.none}</p>;
  return (
    <ul className="graphql-hits">
      {hits.map(({ type, member }) => (
        <li key={`${type} ${member}`}>
          <TypeButton name={type} onOpen={onOpen} />
          {member !== null && <code>.{member}</code>}
        </li>
      ))}
    </ul>
  );
}

function TypeView({ schema, type, onOpen }: { schema: GraphQLSchema; type: GraphQLNamedType; onOpen: Open }) {
  const members = membersOf(type);
  const { interfaces, members: possible } = relativesOf(type, schema);
  const title = isEnumType(type) ? texts.values : isInputObjectType(type) ? texts.inputs : texts.fields;
  return (
    <article aria-label={type.name}>
      <button type="button" className="graphql-type" onClick={() => onOpen(null)}>{texts.all}</button>
      <h2>{type.name}</h2>
      {type.description && <p className="soft graphql-text">{type.description}</p>}
      <Relatives title={texts.implements} names={interfaces} onOpen={onOpen} />
      <Relatives title={texts.members} names={possible} onOpen={onOpen} />
      {members.length > 0 && <h3 className="for-readers">{title}</h3>}
      <ul className="graphql-members">
        {members.map((member) => <MemberView key={member.name} member={member} onOpen={onOpen} />)}
      </ul>
    </article>
  );
}

function Relatives({ title, names, onOpen }: { title: string; names: readonly string[]; onOpen: Open }) {
  if (names.length === 0) return null;
  return (
    <p className="graphql-relatives">
      <span className="soft">{title}</span> {names.map((name) => <TypeButton key={name} name={name} onOpen={onOpen} />)}
    </p>
  );
}

function MemberView({ member, onOpen }: { member: Member; onOpen: Open }) {
  return (
    <li>
      <div className="graphql-member">
        <code>{member.name}</code>
        {member.typeName && <TypeButton name={member.typeName} label={member.type} onOpen={onOpen} />}
        {member.deprecation !== null && <Badge tone="warn">{texts.deprecated}</Badge>}
      </div>
      {(member.deprecation ?? member.description) && (
        <p className="soft graphql-text">{member.deprecation ?? member.description}</p>
      )}
      {member.arguments.length > 0 && (
        <ul className="graphql-arguments">
          {member.arguments.map((argument) => (
            <li key={argument.name} className="graphql-member">
              <code>{argument.name}</code>
              <TypeButton name={argument.typeName} label={argument.type} onOpen={onOpen} />
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

function TypeButton({ name, label, onOpen }: { name: string; label?: string; onOpen: Open }) {
  return <button type="button" className="graphql-type" onClick={() => onOpen(name)}>{label ?? name}</button>;
}
