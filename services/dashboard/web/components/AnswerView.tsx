import type { AppAnswer } from "../api/gateway.ts";
import { formatMs } from "../format.ts";
import { Badge, CodeBlock, CopyButton, JsonView } from "./basics.tsx";
import { callerTexts } from "./callerTexts.ts";
import { Note } from "./states.tsx";
import "./caller.css";

const texts = callerTexts.answer;

/** An answer to a request of an application: status, time, headers, body. Bodies are shown as text, never run. */
export function AnswerView({ answer, depth = 3 }: {
  answer: AppAnswer;
  /** How many levels of JSON are unfolded. */
  depth?: number;
}) {
  const json = parsed(answer);
  return (
    <section className="answer" aria-label={texts.title}>
      <div className="answer-head" role="status">
        <Badge tone={answer.status < 300 ? "good" : answer.status < 400 ? "neutral" : "bad"}>
          {String(answer.status)}
        </Badge>
        <span className="soft">{texts.took(formatMs(answer.ms))}</span>
        {json !== undefined && <CopyButton text={answer.text} />}
      </div>
      <details>
        <summary>{texts.headers(answer.headers.length)}</summary>
        <dl className="answer-headers">
          {answer.headers.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </details>
      {answer.isCut && <Note kind="warn">{texts.cut}</Note>}
      {answer.text === ""
        ? <p className="soft">{texts.empty}</p>
        : json !== undefined
        ? <JsonView value={json} label={texts.body} depth={depth} />
        : <CodeBlock label={texts.body} code={answer.text} />}
    </section>
  );
}

function parsed(answer: AppAnswer): unknown {
  const type = answer.headers.find(([name]) => name === "content-type")?.[1] ?? "";
  if (!type.includes("json") || answer.isCut) return undefined;
  try {
    return JSON.parse(answer.text);
  } catch {
    return undefined;
  }
}
