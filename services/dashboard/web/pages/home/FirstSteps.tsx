import { Link } from "../../address.tsx";
import { useMay, useOperation } from "../../api/hooks.ts";
import { Card } from "../../components/basics.tsx";
import { homeTexts } from "./texts.ts";

const texts = homeTexts.first;

/** What to do first with an empty project; nothing once it has a table. */
export function FirstSteps() {
  const tables = useOperation("catalog.tables", { schema: "public" });
  const mayCreate = useMay("schema.apply");
  if (!mayCreate || tables.data?.length !== 0) return null;
  return (
    <Card title={texts.title}>
      <ol className="home-first">
        <li>
          <Link to="tables">{texts.table}</Link> {texts.tableText}
        </li>
        <li>
          <Link to="users">{texts.user}</Link> {texts.userText}
        </li>
        <li>
          <Link to="policies">{texts.policy}</Link> {texts.policyText}
        </li>
      </ol>
    </Card>
  );
}
