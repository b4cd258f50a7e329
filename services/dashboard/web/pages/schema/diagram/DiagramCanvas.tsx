import "@xyflow/react/dist/style.css";
import {
  Background,
  Controls,
  MiniMap,
  ReactFlow,
  ReactFlowProvider,
  useStore,
  useUpdateNodeInternals,
} from "@xyflow/react";
import { useEffect, useMemo, useRef } from "react";
import { pathOf, useGo, useSearch } from "../../../address.tsx";
import type { Diagram } from "../../../generated/operations.ts";
import { useChangeFlow } from "../changeFlow.tsx";
import { addForeignKey } from "../forms.ts";
import { schemaTexts } from "../texts.ts";
import { boxesOf, levelOf, zoomStep } from "./boxes.ts";
import { details, DiagramToolbar } from "./DiagramToolbar.tsx";
import { type Drawing, DrawingContext } from "./drawing.ts";
import { columnOf, edgesOf, linksOf } from "./elements.ts";
import { KeyLine } from "./KeyLine.tsx";
import { usePlaces } from "./places.ts";
import { SelectedTable } from "./SelectedTable.tsx";
import { TableBox } from "./TableBox.tsx";
import { useTableNodes } from "./tableNodes.ts";
import { padding, useView } from "./view.ts";
import "./diagram.css";

const texts = schemaTexts.diagram;
const nodeTypes = { table: TableBox };
const edgeTypes = { key: KeyLine };
/** From so many tables on, only what is in view is drawn: the others would have no place in the order of Tab. */
const mostDrawn = 150;
const grid: [number, number] = [20, 20];

/** The drawing of a schema: tables that are found, moved, and changed by SQL that is shown first. */
export default function DiagramCanvas({ diagram }: { diagram: Diagram }) {
  return (
    <ReactFlowProvider>
      <Canvas diagram={diagram} />
    </ReactFlowProvider>
  );
}

function Canvas({ diagram }: { diagram: Diagram }) {
  const { schema } = diagram;
  const go = useGo();
  const { ask, mayChange } = useChangeFlow();
  const [search, changeSearch] = useSearch();
  const searchField = useRef<HTMLInputElement>(null);
  const detail = details.find((name) => name === search["detail"]) ?? "auto";
  const boxes = useMemo(() => boxesOf(diagram, detail), [diagram, detail]);
  const links = useMemo(() => linksOf(diagram), [diagram]);
  const kept = usePlaces(schema, detail, boxes, links);
  const selected = boxes.find(({ name }) => name === search["table"]) ?? null;
  const column = search["column"];
  const marked = useMemo(
    () => selected && column ? [selected.name, column] as const : null,
    [selected?.name, column],
  );
  const level = useStore(({ transform }) => levelOf(detail, transform[2]));
  const nameZoom = useStore(({ transform }) => zoomStep(transform[2]));
  const drawing = useMemo<Drawing>(
    () => ({ detail, level, nameZoom, marked, mayChange }),
    [detail, level, nameZoom, marked, mayChange],
  );
  const update = useUpdateNodeInternals();
  // Rows that appear bring points from which keys are drawn; the package measures them when `update` is called.
  useEffect(() => update(boxes.map(({ name }) => name)), [level, mayChange, boxes]);
  const view = useView(boxes, kept.places, detail, selected?.name, column);
  const select = (table: string | null) => changeSearch({ table, column: null });
  const tables = useTableNodes(boxes, kept, selected?.name, select);
  const edges = useMemo(() => edgesOf(diagram, boxes, detail, selected?.name), [
    diagram,
    boxes,
    detail,
    selected?.name,
  ]);
  const onFind = (table: string, found: string | null) => {
    const box = boxes.find(({ name }) => name === table);
    const isHidden = found !== null &&
      (detail === "names" || (detail === "keys" && !box?.keys.some((key) => key.name === found)));
    changeSearch({ table, column: found, ...(isHidden ? { detail: null } : {}) });
    view.reveal(table, found);
  };
  return (
    <DrawingContext value={drawing}>
      <div className="schema-drawing">
        <DiagramToolbar
          schema={schema}
          boxes={boxes}
          detail={detail}
          input={searchField}
          onFind={onFind}
          onDetail={(next) => changeSearch({ detail: next === "auto" ? null : next })}
          onArrange={kept.isMoved
            ? () => {
              kept.reset();
              view.fitNext();
            }
            : null}
        />
        <div
          className="schema-diagram"
          role="region"
          aria-label={texts.label(schema)}
          onKeyDown={(event) => {
            const id = (event.target as HTMLElement).closest<HTMLElement>(".react-flow__node")?.dataset["id"];
            if (event.key === "Enter" && id !== undefined) go(pathOf("schema", "tables", schema, id));
            else if (event.key === "/") searchField.current?.focus();
            else if (!view.onKey(event)) return;
            event.preventDefault();
          }}
        >
          {selected && <SelectedTable schema={schema} box={selected} onClose={() => select(null)} />}
          <ReactFlow
            {...tables}
            edges={edges}
            onNodeDoubleClick={(_, node) => go(pathOf("schema", "tables", schema, node.id))}
            onConnect={(connection) =>
              ask(addForeignKey({ schema, name: connection.source }, {
                column: columnOf(connection.sourceHandle),
                table: connection.target,
                target: columnOf(connection.targetHandle),
              }))}
            isValidConnection={({ sourceHandle, targetHandle, source, target }) =>
              targetHandle?.startsWith("to ") === true &&
              (source !== target || columnOf(sourceHandle ?? null) !== columnOf(targetHandle))}
            nodeTypes={nodeTypes}
            edgeTypes={edgeTypes}
            defaultMarkerColor="var(--line-strong)"
            minZoom={0.05}
            maxZoom={2}
            snapToGrid
            snapGrid={grid}
            nodesConnectable={mayChange}
            edgesFocusable={false}
            deleteKeyCode={null}
            selectionKeyCode={null}
            multiSelectionKeyCode={null}
            panActivationKeyCode={null}
            zoomOnDoubleClick={false}
            onlyRenderVisibleElements={boxes.length > mostDrawn}
            ariaLabelConfig={texts.keys}
            proOptions={{ hideAttribution: true }}
            tabIndex={0}
            aria-label={texts.canvas}
          >
            <Background />
            <Controls showInteractive={false} fitViewOptions={{ padding, maxZoom: 1 }} />
            {!view.isWhole && <MiniMap pannable zoomable nodeBorderRadius={16} />}
          </ReactFlow>
        </div>
      </div>
    </DrawingContext>
  );
}
