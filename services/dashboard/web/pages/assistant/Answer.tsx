import { useGo } from "../../address.tsx";
import { CodeBlock } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { useOpenTexts } from "../sql/openTexts.ts";
import { assistantTexts as texts } from "./texts.ts";

/** A text with blocks of code between lines of ```; the rest is text, whatever it contains: no links, pictures or HTML. */
export function Answer({ text }: { text: string }) {
  const parts = text.split(/^```/m);
  return parts.map((part, index) => {
    if (index % 2 === 0) {
      return part.trim() ? <p key={index} className="assistant-text">{part.trim()}</p> : null;
    }
    const [first = "", ...lines] = part.split("\n");
    return <Code key={index} language={first.trim().toLowerCase()} code={lines.join("\n").trimEnd()} />;
  });
}

function Code({ language, code }: { language: string; code: string }) {
  const { add } = useOpenTexts();
  const go = useGo();
  return (
    <div className="assistant-code">
      <CodeBlock label={texts.code(language)} code={code} />
      {/^(sql|postgres|postgresql|plpgsql)$/.test(language) && (
        <Button
          size="small"
          icon="terminal"
          onPress={() => go("sql", { text: add({ sql: code }) })}
        >
          {texts.openSql}
        </Button>
      )}
    </div>
  );
}
