import { useState } from "react";
import { useMay, useOperation } from "../api/hooks.ts";
import { defineTexts } from "../texts.ts";
import { CodeBlock } from "./basics.tsx";
import { Button } from "./Button.tsx";
import { Note, QueryView } from "./states.tsx";

const texts = defineTexts("access", {
  ask: "Who gains, who loses access?",
  trial: "The SQL is tried and rolled back; tables that it alters are locked meanwhile.",
  loading: "Comparing what roles and users may do…",
  result: "Difference of access",
});

/** Its texts, for translations. */
export type AccessPreviewTexts = typeof texts;

/** What roles and users gain and lose by SQL that is not applied yet, shown on request: the trial takes locks. */
export function AccessPreview({ text }: { text: string }) {
  const [isAsked, setIsAsked] = useState(false);
  const may = useMay("migrations.access");
  const found = useOperation("migrations.access", { text }, { isEnabled: isAsked, staleAfter: 0 });
  if (!may) return null;
  if (!isAsked) {
    return (
      <div>
        <Button onPress={() => setIsAsked(true)}>{texts.ask}</Button>
        <p className="soft">{texts.trial}</p>
      </div>
    );
  }
  return (
    <QueryView query={found} loading={<p className="soft" role="status">{texts.loading}</p>}>
      {({ summary, alarms }) => (
        <>
          {alarms.map((alarm) => <Note key={alarm} kind="warn">{alarm}</Note>)}
          <CodeBlock label={texts.result} code={summary.join("\n")} />
        </>
      )}
    </QueryView>
  );
}
