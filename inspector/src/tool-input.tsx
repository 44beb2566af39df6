import type { FileChange, PlanStep } from "interlingua/client";
import { sanitize } from "./format.ts";
import { Code, LongText } from "./markdown.tsx";
import { Changes, Plan } from "./parts.tsx";

type Input = Record<string, unknown>;

/** The whole input of a tool, whatever its kind: nothing that a user would approve is left out. */
export function ToolInputDetails({ input }: { input: Input }) {
  const { command, changes, steps, prompt, ...rest } = input;
  const others = Object.entries({
    ...(typeof command === "string" ? {} : { command }),
    ...(Array.isArray(changes) ? {} : { changes }),
    ...(Array.isArray(steps) ? {} : { steps }),
    ...(typeof prompt === "string" ? {} : { prompt }),
    ...rest,
  })
    .filter(([, value]) => value != null)
    .sort(([, a], [, b]) => Number(typeof a === "object") - Number(typeof b === "object"));
  return (
    <>
      {typeof command === "string" && <LongText className="command" text={sanitize(command)} />}
      {Array.isArray(changes) && <Changes changes={changes as FileChange[]} />}
      {Array.isArray(steps) && <Plan steps={steps as PlanStep[]} />}
      {typeof prompt === "string" && <LongText className="quoted" text={sanitize(prompt)} />}
      {others.length > 0 && (
        <dl class="fields">
          {others.map(([name, value]) => (
            <div key={name}>
              <dt>{sanitize(name.replaceAll("_", " "))}</dt>
              <dd>
                <Value value={value} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </>
  );
}

function Value({ value }: { value: unknown }) {
  if (typeof value === "string") return <LongText text={sanitize(value)} />;
  if (typeof value === "number" || typeof value === "boolean") return <>{String(value)}</>;
  return <Code text={sanitize(JSON.stringify(value, null, 2))} language="json" />;
}

export function asInput(value: unknown): Input | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0 ? (value as Input) : null;
}
