import { Button } from "../../components/Button.tsx";
import { EmptyState } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import type { PastQuery } from "./pastQueries.ts";
import { graphqlTexts } from "./texts.ts";

const texts = graphqlTexts.past;

/** The list of queries that were run. */
export function PastQueries({ past, onOpen, onClear }: {
  past: readonly PastQuery[];
  onOpen: (query: PastQuery) => void;
  onClear: () => void;
}) {
  if (past.length === 0) return <EmptyState icon="clock" title={texts.none}>{texts.noneText}</EmptyState>;
  return (
    <div className="graphql-docs">
      <ul className="graphql-past">
        {past.map((query) => (
          <li key={query.at}>
            <button type="button" className="graphql-past-query" onClick={() => onOpen(query)}>
              <code>{query.query.trim()}</code>
              <Time value={new Date(query.at).toISOString()} />
            </button>
          </li>
        ))}
      </ul>
      <span>
        <Button size="small" icon="trash" onPress={onClear}>{texts.clear}</Button>
      </span>
    </div>
  );
}
