/**
 * The client for browsers, Node and other runtimes with `fetch`. Imports nothing of Node.
 *
 * @module
 */
export {
  Interlingua,
  type CreateSessionOptions,
  type HistoryFilter,
  type ImportOptions,
  type InstallOptions,
  type SearchOptions,
  type SessionFilter,
} from "./interlingua.js";
export { AllEvents, type AllEventsOptions } from "./all-events.js";
export { FileSystem, type DeleteOptions, type MoveOptions } from "./file-system.js";
export { Session, type History, type HistoryOptions, type QueueOptions, type UploadOptions } from "./session.js";
export { Turn, type AsyncReply, type RequestContext, type SendOptions, type TurnResult } from "./turn.js";
export type { EventOptions } from "./follow.js";
export type { CallOptions, ConnectOptions } from "./transport.js";
export {
  ConnectionError,
  GapError,
  InterlinguaError,
  ProtocolError,
  StartError,
  TimeoutError,
  type ProblemKind,
} from "./errors.js";
export {
  EMPTY_TRANSCRIPT,
  fold,
  itemText,
  reduce,
  type TranscriptRequest,
  type TranscriptItem,
  type TranscriptState,
  type TranscriptTurn,
} from "./fold.js";
export {
  toUIMessageChunks,
  toUIMessageStream,
  type FinishReason,
  type UIMessageChunk,
  type UIMessageMetadata,
} from "./ui-message-stream.js";
export { SseDecoder, type SseFrame } from "./sse.js";
export type * from "./generated/types.js";
