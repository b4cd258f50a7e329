import { useEffect, useRef } from "react";
import { Link, pathOf, useSearch, useSubpath } from "../../address.tsx";
import { useDelayed } from "../../api/delayed.ts";
import { useOperation } from "../../api/hooks.ts";
import { CodeBlock, PageHeader } from "../../components/basics.tsx";
import { SearchField } from "../../components/Field.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { type Block, blocksOf, spansOf } from "./markdown.ts";
import { docsTexts as texts } from "./texts.ts";
import "./docs.css";

/** The documentation of this version: a page of it, or a search. */
export default function DocsPage() {
  const [name] = useSubpath();
  return name ? <Page key={name} name={name} /> : <Search />;
}

function Search() {
  const [search, changeSearch] = useSearch();
  const text = search["find"] ?? "";
  const searched = useDelayed(text.trim());
  const matches = useOperation("docs.search", { text: searched.slice(0, 200), limit: 30 }, {
    isEnabled: searched !== "",
    keepsPrevious: true,
  });
  return (
    <>
      <PageHeader title={texts.title}>{texts.lead}</PageHeader>
      <SearchField label={texts.find} value={text} onChange={(find) => changeSearch({ find })} />
      {searched !== "" && (
        <QueryView
          query={matches}
          isEmpty={(list) => list.length === 0}
          empty={<EmptyState title={texts.none} />}
        >
          {(list) => (
            <ul className="docs-matches">
              {list.map(({ page, heading, excerpt }, index) => (
                <li key={index}>
                  <Link
                    to={pathOf("docs", page)}
                    search={{ section: heading.split(": ").slice(1).join(": ") || heading }}
                  >
                    {heading}
                  </Link>
                  <p className="soft">{spansOf(excerpt.split("\n\n")[0] ?? "").map((span) => span.text).join("")}</p>
                </li>
              ))}
            </ul>
          )}
        </QueryView>
      )}
    </>
  );
}

function Page({ name }: { name: string }) {
  const page = useOperation("docs.read", { page: name }, { staleAfter: 600_000 });
  return <QueryView query={page}>{({ text }) => <Content text={text} />}</QueryView>;
}

function Content({ text }: { text: string }) {
  const [{ section }] = useSearch();
  const wanted = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    wanted.current?.scrollIntoView({ block: "start" });
    wanted.current?.focus();
  }, [section, text]);
  const [first, ...blocks] = blocksOf(text);
  const title = first?.kind === "heading" ? first.text : texts.title;
  const rest = first?.kind === "heading" ? blocks : blocksOf(text);
  return (
    <>
      <PageHeader title={title}>
        <Link to="docs">{texts.all}</Link>
      </PageHeader>
      <article className="docs-page">
        {rest.map((block, index) =>
          block.kind === "heading"
            ? <Heading key={index} block={block} target={block.text === section ? wanted : null} />
            : <BlockView key={index} block={block} />
        )}
      </article>
    </>
  );
}

function Heading({ block, target }: {
  block: Block & { kind: "heading" };
  target: React.RefObject<HTMLHeadingElement | null> | null;
}) {
  const Tag = block.level <= 2 ? "h2" : "h3";
  return <Tag ref={target} tabIndex={-1}>{spansOf(block.text).map((span) => span.text).join("")}</Tag>;
}

function BlockView({ block }: { block: Block }) {
  switch (block.kind) {
    case "code":
      return <CodeBlock label={texts.code} code={block.text} />;
    case "list":
      return (
        <ul>
          {block.items.map((item, index) => (
            <li key={index}>
              <Line text={item} />
            </li>
          ))}
        </ul>
      );
    case "table":
      return (
        <div className="docs-table" tabIndex={0} role="region" aria-label={texts.table}>
          <table>
            <tbody>
              {block.rows.map((row, index) => (
                <tr key={index}>
                  {row.map((cell, place) => (
                    <td key={place}>
                      <Line text={cell} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case "text":
      return (
        <p>
          <Line text={block.text} />
        </p>
      );
    default:
      return null;
  }
}

/** A line; a link to another page of the documentation opens it here, any other address is shown as text. */
function Line({ text }: { text: string }) {
  return spansOf(text).map(({ text: part, isCode, href }, index) => {
    if (isCode) return <code key={index}>{part}</code>;
    const page = /^([\w-]+)\.md(#.*)?$/.exec(href ?? "")?.[1];
    if (page) return <Link key={index} to={pathOf("docs", page)}>{part}</Link>;
    return <span key={index}>{part}</span>;
  });
}
