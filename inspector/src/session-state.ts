import { signal } from "@preact/signals";
import type { Permission, PlanStep, Question, SessionInfo, UniversalEvent } from "interlingua/client";
import { planSteps } from "./entry.ts";

/** A permission request or a question without an answer. */
export type PendingRequest =
  | { readonly kind: "permission"; readonly data: Permission }
  | { readonly kind: "question"; readonly data: Question };

/** What a session is doing now: begins with what the server says, and follows its events. */
export class SessionState {
  readonly isRunning = signal(false);
  readonly isEnded = signal(false);
  readonly pending = signal<readonly PendingRequest[]>([]);
  /** The plan of the running turn. */
  readonly plan = signal<readonly PlanStep[] | null>(null);

  /** Takes over what the server says. */
  reset({ state, pending, ended }: SessionInfo): void {
    this.isRunning.value = state === "running" || state === "waiting";
    this.isEnded.value = ended;
    this.pending.value = pending.map(({ kind, ...data }) => ({ kind, data }) as PendingRequest);
  }

  observe(event: UniversalEvent): void {
    switch (event.type) {
      case "turn.started":
        this.isRunning.value = true;
        this.plan.value = null;
        break;
      case "turn.ended":
        this.isRunning.value = false;
        break;
      case "session.ended":
        this.isRunning.value = false;
        this.isEnded.value = true;
        this.pending.value = [];
        break;
      case "item.started":
      case "item.completed":
        if (event.data.item.parent_id === null) this.plan.value = planSteps(event.data.item) ?? this.plan.peek();
        break;
      case "permission.requested":
        this.#open({ kind: "permission", data: event.data });
        break;
      case "question.requested":
        this.#open({ kind: "question", data: event.data });
        break;
      case "permission.resolved":
        this.#close("permission", event.data.permission_id);
        break;
      case "question.resolved":
        this.#close("question", event.data.question_id);
        break;
      default:
        break;
    }
  }

  #open(request: PendingRequest): void {
    this.#close(request.kind, requestId(request));
    this.pending.value = [...this.pending.peek(), request];
  }

  #close(kind: PendingRequest["kind"], id: string): void {
    const open = this.pending.peek();
    const rest = open.filter((request) => request.kind !== kind || requestId(request) !== id);
    if (rest.length < open.length) this.pending.value = rest;
  }
}

export function requestId(request: PendingRequest): string {
  return request.kind === "permission" ? request.data.permission_id : request.data.question_id;
}
