import "@xyflow/react/dist/style.css";
import {
  Background,
  Controls,
  type Edge,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
} from "@xyflow/react";
import ElkModule, { type ELK, type ElkNode } from "elkjs/lib/elk.bundled.js";
import { useEffect, useState } from "react";
import { pathOf, useGo } from "../../address.tsx";
import { ErrorState, Loading } from "../../components/states.tsx";
import type { Diagram, DiagramTable } from "../../generated/operations.ts";
import { schemaTexts } from "./texts.ts";

// The package's types describe a module with a default member, bundlers see the class itself.
const Elk = ElkModule as unknown as new () => ELK;
const texts = schemaTexts.diagram;
const width = 240;
const headHeight = 32;
const rowHeight = 22;
/** Columns of a table that are drawn; keys come first. */
const mostColumns = 14;

type TableNode = Node<{ table: DiagramTable; keys: ReadonlySet<string> }, "table">;
interface Layout {
  nodes: TableNode[];
  edges: Edge[];
}

/** The drawing: tables laid out by elkjs from left to right along their foreign keys. Click or Enter opens a table. */
export default function DiagramCanvas({ diagram }: { diagram: Diagram }) {
  const go = useGo();
  const [layout, setLayout] = useState<Layout | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    let isCurrent = true;
    layOut(diagram).then((next) => isCurrent && setLayout(next), (reason) => isCurrent && setError(reason));
    return () => {
      isCurrent = false;
    };
  }, [diagram]);
  if (error) return <ErrorState error={error} />;
  if (!layout) return <Loading />;
  return (
    <div className="schema-diagram" role="region" aria-label={texts.label(diagram.schema)}>
      <ReactFlow
        defaultNodes={layout.nodes}
        defaultEdges={layout.edges}
        nodeTypes={nodeTypes}
        fitView
        defaultMarkerColor="var(--line-strong)"
        minZoom={0.05}
        nodesConnectable={false}
        onlyRenderVisibleElements
        proOptions={{ hideAttribution: true }}
        onNodeClick={(_, node) => go(pathOf("schema", "tables", diagram.schema, node.id))}
        onKeyDown={(event) => {
          const id = (event.target as HTMLElement).closest<HTMLElement>(".react-flow__node")?.dataset["id"];
          if (event.key === "Enter" && id !== undefined) go(pathOf("schema", "tables", diagram.schema, id));
        }}
      >
        <Background />
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  );
}

function TableBox({ data }: NodeProps<TableNode>) {
  const { table, keys } = data;
  const shown = shownColumns(table, keys);
  return (
    <div className="schema-box">
      <Handle type="target" position={Position.Left} className="schema-handle" />
      <div className="schema-box-name cut">{table.name}</div>
      {shown.map(({ name, type, is_primary: isPrimary }) => (
        <div key={name} className="schema-box-column">
          <span className={`cut${isPrimary ? " schema-box-key" : ""}`}>{name}</span>
          <span className="faint cut">{type}</span>
        </div>
      ))}
      {table.columns.length > shown.length && (
        <div className="schema-box-column faint">+ {table.columns.length - shown.length}</div>
      )}
      <Handle type="source" position={Position.Right} className="schema-handle" />
    </div>
  );
}

const nodeTypes = { table: TableBox };

function shownColumns(table: DiagramTable, keys: ReadonlySet<string>) {
  const isKey = (column: DiagramTable["columns"][number]) => column.is_primary || keys.has(column.name);
  return [...table.columns].sort((a, b) => Number(isKey(b)) - Number(isKey(a))).slice(0, mostColumns);
}

async function layOut(diagram: Diagram): Promise<Layout> {
  const names = new Set(diagram.tables.map(({ name }) => name));
  const drawn = diagram.foreign_keys.filter(({ target }) =>
    target.schema === diagram.schema && names.has(target.table)
  );
  const nodes: TableNode[] = diagram.tables.map((table) => ({
    id: table.name,
    type: "table",
    position: { x: 0, y: 0 },
    ariaLabel: texts.open(table.name),
    data: {
      table,
      keys: new Set(diagram.foreign_keys.filter((key) => key.table === table.name).flatMap((key) => key.columns)),
    },
  }));
  const edges: Edge[] = drawn.map((key) => ({
    id: `${key.table} ${key.name}`,
    source: key.table,
    target: key.target.table,
    markerEnd: { type: MarkerType.ArrowClosed, width: 18, height: 18 },
    ariaLabel: `${key.table}: ${texts.refers(key.columns.join(", "), key.target.table)}`,
  }));
  const graph = await new Elk().layout({
    id: "root",
    layoutOptions: {
      "elk.algorithm": "layered",
      "elk.direction": "RIGHT",
      "elk.spacing.nodeNode": "32",
      "elk.layered.spacing.nodeNodeBetweenLayers": "72",
    },
    children: nodes.map(({ id, data: { table } }) => ({
      id,
      width,
      height: headHeight + rowHeight * Math.min(table.columns.length, mostColumns + 1) + 8,
    })),
    edges: edges.map(({ id, source, target }) => ({ id, sources: [source], targets: [target] })),
  });
  const places = new Map(graph.children?.map(({ id, x = 0, y = 0 }: ElkNode) => [id, { x, y }]));
  return { nodes: nodes.map((node) => ({ ...node, position: places.get(node.id) ?? node.position })), edges };
}
