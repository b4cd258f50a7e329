import { useSubpath } from "../../address.tsx";
import { Matrix } from "./Matrix.tsx";
import { TablePolicies } from "./TablePolicies.tsx";
import "./policies.css";

/** Policies: the matrix of all tables, or the policies of one. */
export default function PoliciesPage() {
  const [schema, table] = useSubpath();
  return schema && table ? <TablePolicies key={`${schema}.${table}`} schema={schema} table={table} /> : <Matrix />;
}
