// Generated from the server's OpenAPI document by `cargo xtask generate typescript`. Do not edit.

declare enum Unknown {
  Tag = "a tag of a newer server",
}

/**
 * A tag that this version of the SDK does not know: any other string. It is no literal of any union, so that a `switch`
 * over known tags narrows to known variants and leaves this one to its `default` branch.
 */
export type UnknownTag = Unknown.Tag;

/** An object with any members. */
export type JsonObject = { [key: string]: unknown };

/** An agent. Later versions may add values. */
export type AgentId =
  | "claude"
  | "codex"
  | "opencode"
  | "amp"
  | "gemini"
  | "copilot"
  | "qwen"
  | "goose"
  | "cursor"
  | "kimi"
  | "claude-acp"
  | "codex-acp"
  | "opencode-acp"
  | "mock"
  | (string & {});

/** An agent and its installation on the server's machine. */
export interface AgentInfo {
  capabilities: Capabilities;
  /** Whether the server's environment has credentials for the agent, or it needs none. */
  credentialsAvailable: boolean;
  /** Agent id: `claude`, `codex`, `opencode`, `amp`, `mock`. */
  id: AgentId;
  /** Whether its program is installed. */
  installed: boolean;
  /** Name for people. */
  name: string;
  /** Path of the program; omitted if there is none. */
  path?: string;
  /** The process that its sessions share; omitted for agents with a process per session. */
  serverStatus?: ServerInfo;
  /** Installed version; omitted if it is not known. */
  version?: string;
}

/** The agents. */
export interface AgentList {
  agents: AgentInfo[];
}

/** Data of `agent.unparsed`: a native payload that does not fit the agent's schema. The stream continues. */
export interface AgentUnparsed {
  /** What was expected and what was found. */
  error: string;
  /** The component that could not decode the payload. */
  location: string;
  /** Native type of the payload. Omitted if it has none. */
  native_type?: string | null;
  /** SHA-256 hash of the payload, in lower-case hexadecimal. */
  raw_hash: string;
}

/** Which calls an approval covers. */
export type ApprovalScope = "once" | "session" | "always" | (string & {});

/** A question that a tool asks. */
export interface AskedQuestion {
  /** Labels of the options; empty if the answer is free text. */
  options: string[];
  /** Text of the question. */
  prompt: string;
}

/** Capabilities of an agent. True if a recording shows it, so that only verified capabilities are advertised. */
export interface Capabilities {
  /** It runs commands. */
  commandExecution: boolean;
  /** It reports errors. */
  errorEvents: boolean;
  /** It accepts file attachments. */
  fileAttachments: boolean;
  /** It reports its file changes. */
  fileChanges: boolean;
  /** It accepts images. */
  images: boolean;
  /** It reports the start of an item. */
  itemStarted: boolean;
  /** It uses tools of MCP servers. */
  mcpTools: boolean;
  /** It asks for permission before it acts. */
  permissions: boolean;
  /** It can plan without making changes. */
  planMode: boolean;
  /** It asks the user questions. */
  questions: boolean;
  /** It reports its reasoning. */
  reasoning: boolean;
  /** It reports the start of a session. */
  sessionLifecycle: boolean;
  /** One process serves all sessions of the agent. */
  sharedProcess: boolean;
  /** It reports its status. */
  status: boolean;
  /** It streams text while it is generated. */
  streamingDeltas: boolean;
  /** It answers with text messages. */
  textMessages: boolean;
  /** It reports its tool calls. */
  toolCalls: boolean;
  /** It reports the results of tool calls. */
  toolResults: boolean;
}

/** A change of the model or the mode. */
export interface Change {
  /** The previous model or mode. Omitted if the agent does not report it. */
  from?: string | null;
  /** The new model or mode. */
  to: string;
}

/** What happens to a file. */
export type ChangeKind = "create" | "update" | "delete" | "move" | (string & {});

/** The verdict of the checker about a session. */
export interface CheckReport {
  /** Number of events that were checked. */
  events: number;
  /** Number of events by type; one that could not be read counts as none. */
  types: { [key: string]: number };
  /** Whether the session follows all rules. */
  valid: boolean;
  /** Number of violations. */
  violationCount: number;
  /** The violations, at most 1000. */
  violations: Violation[];
}

/** A command to run. */
export interface CommandInput {
  /** Whether the command runs in the background. Omitted if the call does not have it. */
  background?: boolean | null;
  /** The command line, without a shell such as `bash -lc` around it. */
  command: string;
  /** Working directory. Omitted if the call does not have it. */
  cwd?: string | null;
  /** The model's description of the command. Omitted if the call does not have it. */
  description?: string | null;
  /** Timeout of the command. Omitted if the call does not have it. */
  timeout_ms?: number | null;
}

/** A compaction of the conversation. */
export interface Compaction {
  /** Summary that replaces the compacted messages. Omitted if the agent does not report it. */
  summary?: string | null;
  /** Tokens of the conversation after the compaction. Omitted if the agent does not report it. */
  tokens_after?: number | null;
  /** Tokens of the conversation before the compaction. Omitted if the agent does not report it. */
  tokens_before?: number | null;
  /** Who requested it. Omitted if the agent does not report it. */
  trigger?: CompactionTrigger | null;
}

/** Who requested a compaction. */
export type CompactionTrigger = "manual" | "auto" | (string & {});

/** Plain text. */
export interface TextPart {
  /** The text. */
  text: string;
  type: "text";
}

/** Structured content. */
export interface JsonPart {
  /** The value. In a status item, the data of the item's label (`StatusData`). */
  json: unknown;
  type: "json";
}

/** A tool call. */
export interface ToolCallPart {
  /** The arguments as JSON text: `{}` if there are none, a JSON string if they are not JSON. */
  arguments: string;
  /** The agent's id of the call, unchanged. */
  call_id: string;
  /**
   * The arguments under the keys of the tool's kind. Omitted while the arguments stream, and if the call lacks
   * a required key of its kind.
   */
  input?: ToolInput | null;
  /** The agent's name of the tool. */
  name: string;
  /** One line that describes the call, worded the same way for every agent. Omitted until it is known. */
  title?: string | null;
  /** The kind of the tool. Omitted if it is not known. */
  tool_kind?: ToolKind | null;
  type: "tool_call";
}

/** The result of a tool call. Its files and images follow as further parts of the same item. */
export interface ToolResultPart {
  /** Id of the call that this is the result of. */
  call_id: string;
  /** Duration of the call. Omitted if the agent does not report it. */
  duration_ms?: number | null;
  /** Exit code of a command. Omitted for other tools, and if it is not known. */
  exit_code?: number | null;
  /** The output as text; empty if there was none. */
  output: string;
  /** Bytes of the output that came from standard error. Omitted if the agent does not separate the two streams. */
  stderr_bytes?: number | null;
  type: "tool_result";
}

/** A file that was read or changed. */
export interface FileRefPart {
  /** What was done with the file. */
  action: FileAction;
  /** The change as a unified diff; null if the file was not changed or the change is not known. */
  diff: string | null;
  /** Path of the file. */
  path: string;
  type: "file_ref";
}

/** The model's reasoning. */
export interface ReasoningPart {
  /** The text; empty if it was redacted. */
  text: string;
  type: "reasoning";
  /** Whether it may be shown to the user. */
  visibility: Visibility;
}

/** An image. */
export interface ImagePart {
  /** MIME type; null if the agent does not report it. */
  mime: string | null;
  /** Path of the image, or a `data:` URI if the agent sent the bytes. */
  path: string;
  type: "image";
}

/** The label of a status item. */
export interface StatusPart {
  /** One line for a person; null if the label alone is enough. */
  detail: string | null;
  /** The label. */
  label: StatusLabel;
  type: "status";
}

/** The variants that this version of the SDK knows. */
export type KnownContentPart =
  | TextPart
  | JsonPart
  | ToolCallPart
  | ToolResultPart
  | FileRefPart
  | ReasoningPart
  | ImagePart
  | StatusPart;

/** A variant that this version of the SDK does not know. */
export interface UnknownPart {
  type: UnknownTag;
  [key: string]: unknown;
}

/** One element of an item's content. */
export type ContentPart = KnownContentPart | UnknownPart;

/** A session to create. */
export interface CreateSession {
  /** Agent id: `claude`, `codex`, `opencode`, `amp`, `mock`. */
  agent: AgentId;
  /** The agent's mode: `build`, `plan`, `custom`, or one that `/modes` lists; the agent's default if absent. */
  agentMode?: string | null;
  /** The agent's version; the installed one if absent. */
  agentVersion?: string | null;
  /** The agent's working directory, which must exist; the server's working directory if absent. */
  directory?: string | null;
  /** Environment variables for the agent's process. They are kept in memory only. */
  env?: { [key: string]: string } | null;
  /** Labels, by name, for programs that manage many sessions. */
  labels?: { [key: string]: string } | null;
  /** MCP servers for the agent, by name: `{"command", "args", "env"}` or `{"type", "url", "headers"}`. */
  mcp?: { [key: string]: McpServerConfig } | null;
  /** The model; the agent's default if absent. */
  model?: string | null;
  /** What the agent may do without asking: `default`, `plan`, `bypass`, `acceptEdits`; `default` if absent. */
  permissionMode?: PermissionMode | null;
  /**
   * Where the agent can run, if servers share the store: `any`, or the name of a server; where its files will be if
   * absent.
   */
  placement?: string | null;
  /**
   * Milliseconds that a permission request or question waits for an answer before it is denied or rejected; the
   * server's `--request-timeout` if absent.
   */
  requestTimeoutMs?: number | null;
  /** Skills for the agent. They are linked into its folder until the session ends. */
  skills?: Skills | null;
  /** Title for people. */
  title?: string | null;
  /** Variant of the model; the model's default if absent. */
  variant?: string | null;
}

/** The session was created. */
export interface Created {
  /** Always true. */
  healthy: boolean;
  /** The agent's own id of the session; omitted until it is known. */
  nativeSessionId?: string;
}

/** Why a session ended. */
export type EndReason = "completed" | "error" | "terminated" | (string & {});

/** The `phase` of `turn.ended`. */
export type EndedPhase = "ended";

/** Stable code of a kind of failure. */
export type ErrorCode =
  | "rate_limited"
  | "overloaded"
  | "auth"
  | "invalid_request"
  | "context_overflow"
  | "connection"
  | "limit"
  | "agent_error"
  | (string & {});

/** Details of an `error` event. */
export interface ErrorDetails {
  /** Further data of the error, as the agent sent it. Omitted if there is none. */
  native?: unknown;
  /** Whether a retry may succeed. Omitted if the agent does not report it. */
  retryable?: boolean | null;
  /** HTTP status of the failed request. Omitted if there was none. */
  status?: number | null;
  /** Standard error output of the agent process before it exited. Omitted unless a process died. */
  stderr?: StderrOutput | null;
  /** The agent's own name of the failure. Omitted if it has none. */
  type?: string | null;
}

/** Data of `error`: a failure that the user should see. */
export interface ErrorEvent {
  /** Code of the failure; null only in streams of other producers. */
  code: ErrorCode | null;
  /** Details of the failure; null if there are none. */
  details: ErrorDetails | null;
  /** The agent's message, without terminal escape codes. */
  message: string;
}

export type EventId = string;

/** A page of a session's events. */
export interface EventPage {
  events: UniversalEvent[];
  /** Whether the session had more events at the time of the request. */
  hasMore: boolean;
}

/** What a tool did with a file. */
export type FileAction = "read" | "write" | "patch" | (string & {});

/** A change to one file. */
export interface FileChange {
  /** What happens to the file. Omitted if the call does not say: a write may create or replace a file. */
  change?: ChangeKind | null;
  /** The change as a unified diff. Omitted if the call does not have one. */
  diff?: string | null;
  /** The text replacements. Omitted if the call does not have them. */
  edits?: TextEdit[] | null;
  /** Path of the file; absolute if the session's directory is known. */
  path: string;
  /** New path of a moved file. Omitted if it is not moved. */
  to?: string | null;
}

/** Changes to files. */
export interface FileChangeInput {
  /** One change per file. */
  changes: FileChange[];
}

/** A file to read. */
export interface FileReadInput {
  /** Number of lines to read. Omitted if the call does not have it. */
  limit?: number | null;
  /** The first line to read. Omitted if the call does not have it. */
  offset?: number | null;
  /** Path of the file; absolute if the session's directory is known. */
  path: string;
}

/** A file that is attached to a message. */
export interface FileToSend {
  /** File name; the last part of the path if absent. */
  filename?: string | null;
  /** Media type; guessed from the path if absent. */
  mime?: string | null;
  /** Path, absolute or relative to the session's directory. */
  path: string;
}

/** An entry was created or deleted. */
export interface FsActionResponse {
  /** Its absolute path. */
  path: string;
}

/** An entry of a directory. */
export type FsEntry = FsStat & { name: string };

/** What an entry is. */
export type FsEntryType = "file" | "directory" | "link" | "other" | (string & {});

/** What to move. */
export interface FsMoveRequest {
  /** Path of the entry. */
  from: string;
  /** Whether an existing file, or an empty directory, is replaced; false if absent. */
  overwrite?: boolean | null;
  /** Its new path. */
  to: string;
}

/** An entry was moved. */
export interface FsMoveResponse {
  /** Its old absolute path. */
  from: string;
  /** Its new absolute path. */
  to: string;
}

/** What is known about a file or directory. */
export interface FsStat {
  /** What it is. */
  entryType: FsEntryType;
  /** Time of the last change; omitted if the file system does not know it. */
  modified?: string;
  /** Its absolute path. */
  path: string;
  /** Size in bytes. */
  size: number;
}

/** An archive was unpacked. */
export interface FsUploadBatchResponse {
  /** Absolute paths of what was unpacked; at most 1024. */
  paths: string[];
  /** Whether more was unpacked than `paths` has. */
  truncated: boolean;
}

/** A file was written. */
export interface FsWriteResponse {
  /** Its size in bytes. */
  bytesWritten: number;
  /** Its absolute path. */
  path: string;
}

/** The server is up. */
export interface Health {
  /** Always `ok`. */
  status: string;
  store: StoreHealth;
  /** The server's version. */
  version: string;
}

/** Sessions on the disk of the server's machine, newest first. */
export interface HistoryList {
  /** Value for `cursor` to get the next page; omitted on the last page. */
  nextCursor?: string;
  /** Files and folders that cannot be read. */
  problems: string[];
  sessions: HistorySessionInfo[];
  /** Number of sessions that pass the filters, on all pages. */
  total: number;
}

/** A session that an agent keeps on disk. */
export interface HistorySessionInfo {
  /** Agent id. */
  agent: AgentId;
  /** Version of the agent that started the session; omitted if it is not known. */
  agentVersion?: string;
  /** The agent's working directory; omitted if it is not known. */
  directory?: string;
  /** Format in which the agent keeps it: `claude-jsonl`, `codex-rollout`, `opencode-sqlite` or `opencode-json`. */
  format: string;
  /** Time of the last record in milliseconds since 1970; omitted if it is not known. */
  lastActivity?: number;
  /** The agent's own id of the session. */
  nativeSessionId: string;
  /** The file, the database, or the folder of files. */
  path: string;
  /**
   * Id of the session in the store, if it is there: because it was imported, or because the server ran it. Otherwise
   * omitted.
   */
  sessionId?: string;
  /** Time of the first record in milliseconds since 1970; omitted if it is not known. */
  startedAt?: number;
  /** Title, or the first prompt; omitted if there is none. */
  title?: string;
  /** Total usage without that of sub-agents, as far as the end of the file or the database has it; otherwise omitted. */
  usage?: Usage;
}

/** How far an import is. */
export interface ImportInfo {
  /** Number of the import since the server was started; 0 if there was none. */
  id: number;
  /** Why the import failed; omitted in other states. */
  message?: string;
  /** How far a running import is; omitted in other states. */
  progress?: ImportProgressInfo;
  /** What a finished import has done; omitted in other states. */
  result?: ImportResultInfo;
  /** `none`, `running`, `done` or `failed`. */
  state: string;
}

/** How far an import is. */
export interface ImportProgressInfo {
  /** Number of bytes that were read. */
  bytes: number;
  /** Number of sessions that were looked at. */
  done: number;
  /** Number of sessions to import; 0 while they are searched. */
  sessions: number;
}

/** Which sessions to import. At least one field is needed. */
export interface ImportRequest {
  /** Only sessions of this agent. */
  agent?: AgentId | null;
  /** Whether to import all sessions. */
  all?: boolean | null;
  /** Only sessions whose agent worked in this directory. */
  directory?: string | null;
  /** Only sessions with these native ids. */
  nativeSessionIds?: string[] | null;
  /** Only sessions that have changed since this time in milliseconds since 1970. */
  since?: number | null;
}

/** What an import has done. */
export interface ImportResultInfo {
  bytes: number;
  /** Number of sessions that were continued in the store. Their files are not read any more. */
  continued: number;
  /** Number of problems, such as damaged records. */
  damaged: number;
  /** Number of sessions that have nothing to show. */
  empty: number;
  /** Number of sessions that have new events. */
  extended: number;
  /** Number of sessions that could not be imported. */
  failed: number;
  /** Number of sessions that are new in the store. */
  imported: number;
  /** Number of events that were added to the store. */
  newEvents: number;
  /** The first problems, each with its file. */
  problems: string[];
  /** Number of records that were read, and of their bytes. */
  records: number;
  /** Number of sessions whose agent had changed what it had written. They were stored anew. */
  replaced: number;
  /** Number of sessions that were looked at. */
  sessions: number;
  /** Number of sessions of which the store had all. */
  unchanged: number;
  /** Number of records of unknown types, which are `agent.unparsed` events. */
  unparsed: number;
}

/** The last installation of an agent since the server was started. */
export interface InstallInfo {
  /** Why the installation failed; omitted in other states. */
  message?: string;
  /** How far a running installation is; omitted in other states. */
  progress?: InstallProgressInfo;
  /** State of the installation. */
  state: InstallState;
}

/** How far an installation is. Its total size is not known. */
export interface InstallProgressInfo {
  /** Number of bytes on disk so far. */
  bytes: number;
}

/** What to install. */
export interface InstallRequest {
  /** Whether to install the agent again if it is installed already; false if absent. */
  reinstall?: boolean | null;
  /** Version to install; the version that this server supports if absent. */
  version?: string | null;
}

/** State of the last installation of an agent since the server was started. */
export type InstallState = "none" | "running" | "done" | "failed" | (string & {});

/** A message, tool call, tool result, status, system or unknown entry of a session. */
export interface Item {
  /** The content known so far. */
  content: ContentPart[];
  /** Interlingua's id of the item. */
  item_id: ItemId;
  /** The kind of item. */
  kind: ItemKind;
  /** The agent's id of the item or its message; null if there is none. */
  native_item_id: NativeItemId | null;
  /**
   * Id of the item that this one belongs to: for a tool call its message, for an item of a sub-agent the tool call
   * that started the sub-agent; null if there is none.
   */
  parent_id: ItemId | null;
  /** The author; null if the item has none. */
  role: Role | null;
  /** The state of the item. */
  status: ItemStatus;
}

/** Data of `item.delta`. */
export interface ItemDelta {
  /** The next piece of text. */
  delta: string;
  /** Interlingua's id of the item. */
  item_id: ItemId;
  /** The agent's id of the item; null if there is none. */
  native_item_id: NativeItemId | null;
}

/** Data of `item.started` and `item.completed`. */
export interface ItemEvent {
  /** The item. */
  item: Item;
}

export type ItemId = string;

/** The kind of an item. */
export type ItemKind = "message" | "tool_call" | "tool_result" | "system" | "status" | "unknown" | (string & {});

/** The state of an item. */
export type ItemStatus = "in_progress" | "completed" | "failed" | (string & {});

/** A program that communicates over its standard input and output. */
export interface LocalMcpServer {
  /** Further arguments. */
  args?: string[];
  /** The program, or the program and its first arguments. */
  command: string | string[];
  /** Folder in which the program starts; the agent's if absent. */
  cwd?: string;
  /** Whether the agent uses the server; true if absent. */
  enabled?: boolean;
  /** Environment variables of the program. They are kept in memory only. */
  env?: { [key: string]: string };
  /** Milliseconds that the server may take to start and to answer; the agent's default if absent. */
  timeoutMs?: number;
  type?: "stdio" | "local";
}

/** A call of a tool of an MCP server. */
export interface McpInput {
  /** Arguments of the call. */
  arguments: unknown;
  /** Name of the server. */
  server: string;
  /** Name of the tool. */
  tool: string;
}

/** An OAuth client. */
export interface McpOauthClient {
  /** Id of the client; it registers itself if absent. */
  clientId?: string;
  /** The scope that it asks for. */
  scope?: string;
}

/** Values of an MCP server that may be secret. */
export interface McpSecrets {
  /** Environment variables of a program. */
  env?: { [key: string]: string };
  /** Headers of the requests to a URL. */
  headers?: { [key: string]: string };
}

/** An MCP server that an agent uses. */
export interface McpServer {
  /** Name of the server. */
  name: string;
  /** State of the server, as the agent names it. Omitted if the agent does not report it. */
  status?: string | null;
}

/** An MCP server: a program, or a URL. */
export type McpServerConfig = LocalMcpServer | RemoteMcpServer;

/** The queue of a session. */
export interface MessageList {
  /** The messages whose turns have not begun, in the order of their turns. */
  messages: QueuedMessageInfo[];
}

/** A mode that a session can be created with. */
export interface ModeInfo {
  /** What the mode does. */
  description: string;
  /** Value for `agentMode`. */
  id: string;
  /** Name for people. */
  name: string;
}

/** The modes of an agent. */
export interface ModeList {
  modes: ModeInfo[];
}

/** A model that a session can be created with. */
export interface ModelInfo {
  /** Variant that is used when none is given; omitted if it is not known. */
  defaultVariant?: string;
  /** Value for `model`. */
  id: string;
  /** Name for people; omitted if it is the same as the id. */
  name?: string;
  /** Values for `variant`; omitted if there are none. */
  variants?: string[];
}

/** The models of an agent. */
export interface ModelList {
  /** Model that is used when none is given; omitted if it is not known. */
  defaultModel?: string;
  /** True if the agent is not installed, so that it could not be asked: it may have other models. Otherwise omitted. */
  fallback?: boolean;
  models: ModelInfo[];
}

export type NativeItemId = string;

export type NativeSessionId = string;

/** A permission request that waits for an answer. */
export type PendingPermission = Permission & { kind: "permission" };

/** A question that waits for an answer. */
export type PendingQuestion = Question & { kind: "question" };

/** A request that waits for an answer: the data of its event, with its `kind`. */
export type PendingRequest = PendingPermission | PendingQuestion;

/** Data of `permission.requested` and `permission.resolved`. */
export interface Permission {
  /** What the agent wants to do, in one line; worded like the title of a tool call. */
  action: string;
  /** The tool call and the possible scopes; null only in streams of other producers. */
  metadata: PermissionMetadata | null;
  /** Id of the permission, unique in the session. The agent's id, unless the agent uses it twice. */
  permission_id: string;
  /** The state of the permission. */
  status: PermissionStatus;
}

/** Metadata of `permission.requested` and `permission.resolved`. */
export interface PermissionMetadata {
  /** Name of the API token that resolved the permission. Omitted until then, and if it is not known. */
  by?: string | null;
  /** Id of the tool call that waits for the permission; null if no call is known. */
  call_id: string | null;
  /** True if the permission was denied because there was no answer in time. Omitted otherwise. */
  expired?: boolean | null;
  /** Input of the tool call; null if it is not known. */
  input: ToolInput | null;
  /** Further data of the request, as the agent sent it; null if there is none. */
  native: unknown;
  /** Why the agent needs the permission. Omitted if the agent does not report it. */
  reason?: string | null;
  /** Scope of the approval. Omitted until the permission is approved. */
  scope?: ApprovalScope | null;
  /** The scopes that an approval can have. */
  scopes: ApprovalScope[];
  /** The kind of the tool. */
  tool_kind: ToolKind;
}

/** What the agent may do without asking. Later versions may add values. */
export type PermissionMode = "default" | "plan" | "bypass" | "acceptEdits" | (string & {});

/** The state of a permission. */
export type PermissionStatus = "requested" | "approved" | "denied" | (string & {});

/** The agent's plan. */
export interface Plan {
  /** All steps, in order. */
  steps: PlanStep[];
}

/** A plan. */
export interface PlanInput {
  /** All steps, in order. */
  steps: PlanStep[];
}

/** A step of a plan. */
export interface PlanStep {
  /** Description of the step. */
  content: string;
  /** State of the step. */
  status: StepStatus;
}

/** A problem document (RFC 9457), `application/problem+json`. */
export interface Problem {
  /** The agent concerned; omitted if there is none. */
  agent?: string;
  /** What was expected, what was found and what to do. */
  detail: string;
  /** Machine-readable details such as `field`; omitted if there are none. */
  details?: JsonObject;
  /** The session concerned; omitted if there is none. */
  sessionId?: string;
  /** The HTTP status. */
  status: number;
  /** Title of the kind, for people. */
  title: string;
  /** Kind of the problem as a URN. Later versions may add kinds. */
  type:
    | "urn:interlingua:error:invalid_request"
    | "urn:interlingua:error:unsupported_agent"
    | "urn:interlingua:error:mode_not_supported"
    | "urn:interlingua:error:token_invalid"
    | "urn:interlingua:error:forbidden_origin"
    | "urn:interlingua:error:forbidden_agent"
    | "urn:interlingua:error:insufficient_scope"
    | "urn:interlingua:error:not_found"
    | "urn:interlingua:error:agent_not_installed"
    | "urn:interlingua:error:session_not_found"
    | "urn:interlingua:error:permission_not_found"
    | "urn:interlingua:error:question_not_found"
    | "urn:interlingua:error:method_not_allowed"
    | "urn:interlingua:error:session_already_exists"
    | "urn:interlingua:error:session_ended"
    | "urn:interlingua:error:already_resolved"
    | "urn:interlingua:error:message_conflict"
    | "urn:interlingua:error:change_refused"
    | "urn:interlingua:error:cursor_gone"
    | "urn:interlingua:error:payload_too_large"
    | "urn:interlingua:error:unsupported_media_type"
    | "urn:interlingua:error:agent_process_exited"
    | "urn:interlingua:error:install_failed"
    | "urn:interlingua:error:stream_error"
    | "urn:interlingua:error:timeout"
    | "urn:interlingua:error:unavailable"
    | "urn:interlingua:error:storage_full"
    | "urn:interlingua:error:internal_error"
    | (string & {});
}

/** Data of `question.requested` and `question.resolved`. */
export interface Question {
  /**
   * Heading, descriptions of the options, and how the question may be answered. Omitted only in streams of other
   * producers.
   */
  metadata?: QuestionMetadata | null;
  /** Labels of the options; empty if the answer is free text. */
  options: string[];
  /** Text of the question. */
  prompt: string;
  /**
   * Id of the question, unique in the session. The agent's id; with `:0`, `:1` … appended if one request has several
   * questions.
   */
  question_id: string;
  /** The answer; null until there is one. */
  response: string | null;
  /** The state of the question. */
  status: QuestionStatus;
}

/** Questions to the user. */
export interface QuestionInput {
  /** The questions, in order. */
  questions: AskedQuestion[];
}

/** Metadata of `question.requested` and `question.resolved`. */
export interface QuestionMetadata {
  /** Id of the tool call that waits for the answer. Omitted if there is none. */
  call_id?: string | null;
  /** True if the question was rejected because there was no answer in time. Omitted otherwise. */
  expired?: boolean | null;
  /** Whether the answer may be free text instead of an option. */
  free_text: boolean;
  /** Short heading of the question. Omitted if the agent does not send one. */
  header?: string | null;
  /** Whether several options may be chosen. */
  multi_select: boolean;
  /** Further data of the request, as the agent sent it. Omitted if there is none. */
  native?: unknown;
  /** The options, in the order of the question's `options`. */
  options: QuestionOption[];
  /** Whether the answer is secret and must not be shown. */
  secret: boolean;
}

/** An option of a question. */
export interface QuestionOption {
  /** What the option means. Omitted if the agent does not send it. */
  description?: string | null;
  /** Label of the option. Choosing the option answers with the label. */
  label: string;
}

/** The state of a question. */
export type QuestionStatus = "requested" | "answered" | "rejected" | (string & {});

/** A message that waits for its turn. */
export interface QueuedMessageInfo {
  /** Attached files. */
  attachments: FileToSend[];
  /** Time at which it was queued, in milliseconds since 1970. */
  createdAt: number;
  /** Id of the message: the client's, or a generated one. */
  id: string;
  /** Text of the message. */
  message: string;
}

/** The state of a rate limit. */
export interface RateLimit {
  /** Time at which the limit resets. Omitted if the agent does not report it. */
  resets_at?: Timestamp | null;
  /** `allowed`, `warning` or `rejected`, or the agent's own status if none of these fits. */
  status: string;
  /** Period of the limit, such as `5h` or `7d`. Omitted if the agent does not report it. */
  window?: string | null;
}

/** The server can take work. */
export interface Ready {
  /** Free space on the disk of the data directory, in bytes. */
  freeBytes: number;
  /** Always `ready`. */
  status: string;
  /** Time that a commit takes now, in milliseconds, including the writes before it. */
  storeLagMs: number;
}

/** A server over HTTP. */
export interface RemoteMcpServer {
  /** Variable of the session's `env` with a bearer token. */
  bearerTokenEnvVar?: string;
  /** Whether the agent uses the server; true if absent. */
  enabled?: boolean;
  /** Headers whose values are variables of the session's `env`: the names of these, by header. */
  envHeaders?: { [key: string]: string };
  /** Headers of every request. They are kept in memory only. */
  headers?: { [key: string]: string };
  /** False, or the OAuth client as which the agent logs in. */
  oauth?: false | McpOauthClient;
  /** Milliseconds that the server may take to start and to answer; the agent's default if absent. */
  timeoutMs?: number;
  /** As `type`, for `remote`. */
  transport?: "http" | "sse";
  /** `sse` is the older transport; `http` if absent. */
  type?: "http" | "remote" | "sse";
  url: string;
}

/** Whether the agent is allowed to act. */
export type Reply = "once" | "always" | "reject";

/** The answer to a permission request. */
export interface ReplyPermission {
  reply: Reply;
}

/** The answer to a question. */
export interface ReplyQuestion {
  /** One list: the chosen options of this question, or free text. */
  answers: string[][];
}

/** A retry of a request by the agent. */
export interface Retry {
  /** Number of the retry; the first is 1. */
  attempt: number;
  /** Code of the failure. Omitted if it is not known. */
  code?: ErrorCode | null;
  /** Delay before the retry. Omitted if the agent does not report it. */
  delay_ms?: number | null;
  /** Maximum number of retries. Omitted if the agent does not report it. */
  max_attempts?: number | null;
  /** Reason of the retry, as the agent reports it. */
  reason: string;
}

/** The author of an item. */
export type Role = "user" | "assistant" | "system" | "tool" | (string & {});

/** An event that was found. */
export interface SearchHit {
  /** Agent id of the session. */
  agent: AgentId;
  /** `sequence` of the event in its session. */
  sequence: number;
  /** Id of the session. */
  sessionId: string;
  /** The place of the text with most of the words, on one line. */
  snippet: string;
  /** Time of the event in milliseconds since 1970. */
  time: number;
  /** Title of the session. */
  title: string | null;
}

/** A search in file contents or file names. */
export interface SearchInput {
  /** Pattern of the files to search. Omitted if the call does not have it. */
  glob?: string | null;
  /** Whether names or contents are searched. Omitted if the call does not have it. */
  in?: SearchTarget | null;
  /** The directory or file to search. Omitted if the call does not have it. */
  path?: string | null;
  /** The text or pattern to find. */
  query: string;
}

/** Events whose text has the words that were searched for, newest first. */
export interface SearchResults {
  /** Whether everything that was stored before the request was searched. False while the server indexes a large store. */
  complete: boolean;
  /** Whether there are more results than `limit`. */
  hasMore: boolean;
  results: SearchHit[];
}

/** What a search looks at. */
export type SearchTarget = "names" | "contents" | (string & {});

/** A message for the agent. */
export interface SendMessage {
  /** Attached files. */
  attachments?: FileToSend[] | null;
  /**
   * Id of the message, unique in its session. A message with an id can be sent again after a broken connection: it is
   * queued once.
   */
  id?: string | null;
  /** Text of the message. */
  message: string;
}

/** The process that the sessions of an agent share. */
export interface ServerInfo {
  /** Address that it listens on; omitted if it does not. */
  baseUrl?: string;
  /** Why it last failed; omitted if it never did. */
  lastError?: string;
  /** Number of restarts. */
  restartCount: number;
  status: ServerInfoStatus;
  /** Time since it started; omitted if it does not run. */
  uptimeMs?: number;
}

/** State of a shared process. */
export type ServerInfoStatus = "running" | "stopped" | "error" | (string & {});

/** Data of `session.ended`. */
export interface SessionEnded {
  /**
   * Exit code of the agent; negative if a signal killed it. Omitted unless the reason is `error`, and if it is not
   * known.
   */
  exit_code?: number | null;
  /** Error message for a person. Omitted unless the reason is `error`. */
  message?: string | null;
  /** Why the session ended. */
  reason: EndReason;
  /** Standard error output of the agent. Omitted unless the reason is `error`, and if there was no output. */
  stderr?: StderrOutput | null;
  /** Who ended the session. */
  terminated_by: TerminatedBy;
}

export type SessionId = string;

/** A session. Fields without a value are null, unless they are described as omitted. */
export interface SessionInfo {
  /** Agent id. */
  agent: AgentId;
  /** The agent's mode: as chosen, as the agent reports it, or its default; `default` if the agent does not say. */
  agentMode: string;
  /** Time of creation in milliseconds since 1970. */
  createdAt: number;
  /** The agent's working directory. */
  directory: string | null;
  /** Whether the session has ended. */
  ended: boolean;
  /** Number of events, which is also the `sequence` of the last one. */
  eventCount: number;
  /** Labels, by name. */
  labels: { [key: string]: string };
  /** Status of the last turn that ended; omitted before. */
  lastTurnStatus?: TurnStatus;
  /** The model: as chosen, as the agent reports it, or the agent's default; `default` if the agent does not say. */
  model: string;
  /** The agent's own id of the session; null until it is known. */
  nativeSessionId: string | null;
  /** Permission requests and questions that wait for an answer, oldest first. */
  pending: PendingRequest[];
  /** What the agent may do without asking. */
  permissionMode: PermissionMode | null;
  /** Where the agent can run: `any`, or the name of a server. Omitted unless servers share the store. */
  placement?: string;
  /** Number of messages whose turns have not begun. */
  queued: number;
  /** Names of the values that the session waits for in the state `needs_secrets`; omitted in other states. */
  secretsMissing?: string[];
  /** The server that owns the session now. Omitted while it is idle, and unless servers share the store. */
  server?: string;
  /** Session id. */
  sessionId: string;
  /** What the session is doing. */
  state: SessionState;
  /** Title for people. */
  title: string | null;
  /** Time of the last change in milliseconds since 1970. */
  updatedAt: number;
  /** Total usage of all turns; null if the agent has reported none. */
  usage: Usage | null;
  /** Variant of the model, if one was chosen. */
  variant: string | null;
}

/** Sessions, newest first. */
export interface SessionList {
  /** Value for `cursor` to get the next page; omitted on the last page. */
  nextCursor?: string;
  sessions: SessionInfo[];
  /** Number of sessions that pass the filters, on all pages. */
  total: number;
}

/** Metadata of `session.started`. */
export interface SessionMetadata {
  /** The agent's id: `claude`, `codex`, `opencode`, `amp`, `mock`. Omitted only in streams of version 1.0. */
  agent?: string;
  /** The agent's own mode, such as OpenCode's `build` and `plan`. Omitted if the agent does not report it. */
  agent_mode?: string | null;
  /** Version of the agent. Omitted if the agent does not report it. */
  agent_version?: string | null;
  /** Working directory of the session. Omitted if the agent does not report it. */
  cwd?: string | null;
  /** The native session that this one was forked from. Omitted if it was not forked. */
  forked_from?: string | null;
  /** Whether the session was imported from the agent's history. Omitted if it was not. */
  imported?: boolean | null;
  /** MCP servers of the session. Omitted if the agent does not report them. */
  mcp_servers?: McpServer[] | null;
  /** The model in use. Omitted if the agent does not report it. */
  model?: string | null;
  /** Further metadata under the agent's own keys. Omitted if there is none. */
  native?: JsonObject | null;
  /**
   * What the agent may do without a permission: `default`, `plan`, `acceptEdits`, `bypass`, or the agent's own name
   * of the mode. Omitted if the agent does not report it.
   */
  permission_mode?: string | null;
  /** Names of the agent's tools. Omitted if the agent does not report them. */
  tools?: string[] | null;
}

/** Values that a session was created with. Names that are left out keep their values, or stay missing. */
export interface SessionSecrets {
  /** Environment variables of the agent's process. */
  env?: { [key: string]: string } | null;
  /**
   * Values of MCP servers, by name: `{"env": {…}}` or `{"headers": {…}}`. The other fields that the server was created
   * with may be given too and do not matter.
   */
  mcp?: { [key: string]: McpSecrets } | null;
}

/** Data of `session.started`. */
export interface SessionStarted {
  /** The agent and what it reports about the session. Omitted only in streams of other producers. */
  metadata?: SessionMetadata | null;
}

/** What a session is doing. */
export type SessionState = "idle" | "running" | "waiting" | "needs_secrets" | "ended" | (string & {});

/** Where skills are: in the folder itself, in its folder `skills`, or in its folders. A skill is a folder with a `SKILL.md`. */
export interface SkillSource {
  /** Branch, tag or commit of a repository; its default branch if absent. */
  ref?: string | null;
  /** Names of the skills; all if absent. */
  skills?: string[] | null;
  /** An absolute path, the address of a git repository, or `OWNER/REPOSITORY` on GitHub. */
  source: string;
  /** Folder of the repository that has the skills. */
  subpath?: string | null;
  /** What `source` is. */
  type: SkillSourceKind;
}

/** What a source of skills is. */
export type SkillSourceKind = "local" | "git" | "github";

/** Skills for an agent. */
export interface Skills {
  /** Where the skills are. */
  sources: SkillSource[];
}

/** Whether the agent sent the event or it was synthesised. */
export type Source = "agent" | "daemon" | (string & {});

/** The `phase` of `turn.started`. */
export type StartedPhase = "started";

/**
 * The data of a status item, in its `json` part. The item's label decides the variant. `hook`, `notice` and
 * `late_result` have no data.
 */
export type StatusData = Retry | Compaction | Change | RateLimit | Task | Plan;

/** What a status item is about. Most labels have data (`StatusData`), in a `json` part of the same item. */
export type StatusLabel =
  | "retry"
  | "compaction"
  | "plan"
  | "rate_limit"
  | "model_changed"
  | "mode_changed"
  | "hook"
  | "task"
  | "notice"
  | "late_result"
  | (string & {});

/** Standard error output of an agent. Up to 70 lines are kept completely; of more, the first 20 and the last 50. */
export interface StderrOutput {
  /** The first 20 lines, or all lines if none are missing. Omitted if there are none. */
  head?: string | null;
  /** The last 50 lines. Omitted if no lines are missing. */
  tail?: string | null;
  /** Total number of lines. Omitted if it is not known. */
  total_lines?: number | null;
  /** Whether lines between `head` and `tail` are missing. */
  truncated: boolean;
}

/** The state of a plan step. */
export type StepStatus = "pending" | "in_progress" | "completed" | "cancelled" | (string & {});

/** Why the model stopped. */
export type StopReason = "end_turn" | "max_tokens" | "refusal" | "interrupted" | "other" | (string & {});

/** The store of the server. Fields about a shared store are omitted for one of a single server. */
export interface StoreHealth {
  /** Milliseconds since it renewed its leases. Beyond `leaseMs`, other servers take its sessions over. */
  heartbeatAgeMs?: number;
  /** The database: `sqlite`, or `postgres`, which servers share. */
  kind: string;
  /** How long its leases last after a renewal, in milliseconds. */
  leaseMs?: number;
  /** Number of sessions that it owns now. */
  leases?: number;
  /** Whether it learns at once what other servers append. Otherwise it looks every second. */
  receivesSignals?: boolean;
  /** Name of this server. */
  server?: string;
  /** How long the last signal took from server to server, in milliseconds. */
  signalLagMs?: number;
}

/** A task for a sub-agent. */
export interface SubAgentInput {
  /** Name of the sub-agent. Omitted if the call does not have it. */
  agent?: string | null;
  /** Short description of the task. Omitted if the call does not have it. */
  description?: string | null;
  /** The task of the sub-agent. */
  prompt: string;
}

/** The state of background work or of a sub-agent. */
export interface Task {
  /** Id of the tool call that the task belongs to. Omitted if the agent does not report it. */
  call_id?: string | null;
  /** State of the task. */
  state: TaskState;
  /** The agent's id of the task. */
  task_id: string;
}

/** The state of a task. */
export type TaskState = "started" | "running" | "completed" | "failed" | "stopped" | (string & {});

/** Who ended a session. */
export type TerminatedBy = "agent" | "daemon" | (string & {});

/** The replacement of a text in a file. */
export interface TextEdit {
  /** The text that replaces it. */
  new: string;
  /** The text that is replaced. */
  old: string;
}

export type Timestamp = string;

/** The input of a tool call. The call's `tool_kind` decides the variant. */
export type ToolInput =
  | CommandInput
  | FileReadInput
  | FileChangeInput
  | SearchInput
  | WebInput
  | McpInput
  | SubAgentInput
  | PlanInput
  | QuestionInput;

/** The kind of a tool. */
export type ToolKind =
  | "command"
  | "file_change"
  | "file_read"
  | "search"
  | "mcp"
  | "web"
  | "sub_agent"
  | "plan"
  | "question"
  | "other"
  | (string & {});

/** Metadata of `turn.ended`. */
export interface TurnEndMetadata {
  /** Further metadata under the agent's own keys. Omitted if there is none. */
  native?: JsonObject | null;
  /** Why the model stopped. Omitted if the agent does not report it. */
  stop_reason?: StopReason | null;
}

/** Data of `turn.ended`. */
export interface TurnEnded {
  /** Duration of the turn: as the agent reports it, or else the time between the two events. */
  duration_ms: number;
  /** What the agent reports at the end of the turn. Omitted if there is nothing. */
  metadata?: TurnEndMetadata | null;
  /** Always `ended`. */
  phase: EndedPhase;
  /** Outcome of the turn. */
  status: TurnStatus;
  /** Id of the turn, as in its `turn.started`. Empty only in streams of version 1.0. */
  turn_id: string;
  /** Tokens and cost of this turn alone. Omitted if the agent does not report them. */
  usage?: Usage | null;
}

/**
 * Metadata of `turn.started`. Agents that describe themselves at the start of every turn repeat keys of
 * `SessionMetadata` here.
 */
export interface TurnMetadata {
  /** The agent's own mode. Omitted if the agent does not report it. */
  agent_mode?: string | null;
  /** Version of the agent. Omitted if the agent does not report it. */
  agent_version?: string | null;
  /** Working directory of the session. Omitted if the agent does not report it. */
  cwd?: string | null;
  /** MCP servers of the session. Omitted if the agent does not report them. */
  mcp_servers?: McpServer[] | null;
  /** Ids of the messages that the turn handles. Omitted if they have none. */
  message_ids?: string[] | null;
  /** The model in use. Omitted if the agent does not report it. */
  model?: string | null;
  /** Further metadata under the agent's own keys. Omitted if there is none. */
  native?: JsonObject | null;
  /** What the agent may do without a permission. Omitted if the agent does not report it. */
  permission_mode?: string | null;
  /** Names of the agent's tools. Omitted if the agent does not report them. */
  tools?: string[] | null;
}

/** Data of `turn.started`. */
export interface TurnStarted {
  /** What the agent reports at the start of the turn. Omitted if there is nothing. */
  metadata?: TurnMetadata | null;
  /** Always `started`. */
  phase: StartedPhase;
  /** Id of the turn. The agent's id, or a generated one if the agent has none. Empty only in streams of version 1.0. */
  turn_id: string;
}

/** The outcome of a turn. */
export type TurnStatus = "completed" | "failed" | "interrupted" | (string & {});

/** What all variants have. */
export interface UniversalEventBase {
  /** Unique id of the event. */
  event_id: EventId;
  /** The agent's id of the session; null until it is known. */
  native_session_id: NativeSessionId | null;
  /** The native payload that the event was made from, byte for byte; null unless raw payloads are enabled. */
  raw: unknown;
  /** Sequence number of the event in its session. Starts at 1, without gaps. */
  sequence: number;
  /** Interlingua's id of the session. */
  session_id: SessionId;
  /** Whether the agent sent the event or it was synthesised. */
  source: Source;
  /** True exactly when the source is `daemon`. */
  synthetic: boolean;
  /** Time of the event. Never earlier than the time of the previous event. */
  time: Timestamp;
}

/** The session started. */
export interface SessionStartedEvent extends UniversalEventBase {
  data: SessionStarted;
  type: "session.started";
}

/** The session ended. No event follows. */
export interface SessionEndedEvent extends UniversalEventBase {
  data: SessionEnded;
  type: "session.ended";
}

/** A turn started. */
export interface TurnStartedEvent extends UniversalEventBase {
  data: TurnStarted;
  type: "turn.started";
}

/** A turn ended. */
export interface TurnEndedEvent extends UniversalEventBase {
  data: TurnEnded;
  type: "turn.ended";
}

/** An item started. */
export interface ItemStartedEvent extends UniversalEventBase {
  data: ItemEvent;
  type: "item.started";
}

/** More text of an open item. */
export interface ItemDeltaEvent extends UniversalEventBase {
  data: ItemDelta;
  type: "item.delta";
}

/** An item completed. It has its full content. */
export interface ItemCompletedEvent extends UniversalEventBase {
  data: ItemEvent;
  type: "item.completed";
}

/** The agent requests a permission. */
export interface PermissionRequestedEvent extends UniversalEventBase {
  data: Permission;
  type: "permission.requested";
}

/** A permission was approved, denied or withdrawn. */
export interface PermissionResolvedEvent extends UniversalEventBase {
  data: Permission;
  type: "permission.resolved";
}

/** The agent asks the user a question. */
export interface QuestionRequestedEvent extends UniversalEventBase {
  data: Question;
  type: "question.requested";
}

/** A question was answered, rejected or withdrawn. */
export interface QuestionResolvedEvent extends UniversalEventBase {
  data: Question;
  type: "question.resolved";
}

/** An error that the user should see. */
export interface ErrorUniversalEvent extends UniversalEventBase {
  data: ErrorEvent;
  type: "error";
}

/** A native payload could not be decoded. */
export interface AgentUnparsedEvent extends UniversalEventBase {
  data: AgentUnparsed;
  type: "agent.unparsed";
}

/** The variants that this version of the SDK knows. */
export type KnownUniversalEvent =
  | SessionStartedEvent
  | SessionEndedEvent
  | TurnStartedEvent
  | TurnEndedEvent
  | ItemStartedEvent
  | ItemDeltaEvent
  | ItemCompletedEvent
  | PermissionRequestedEvent
  | PermissionResolvedEvent
  | QuestionRequestedEvent
  | QuestionResolvedEvent
  | ErrorUniversalEvent
  | AgentUnparsedEvent;

/** A variant that this version of the SDK does not know. */
export interface UnknownEvent extends UniversalEventBase {
  type: UnknownTag;
  data: unknown;
}

/** One event of a session. */
export type UniversalEvent = KnownUniversalEvent | UnknownEvent;

/** Changes of a session. A field that is absent does not change; null goes back to the default. */
export interface UpdateSession {
  /** Labels to set, by name; null removes a label. Other labels stay. */
  labels?: { [key: string]: string | null };
  /** The model; null for the agent's default. */
  model?: string | null;
  /** What the agent may do without asking: `default`, `plan`, `bypass`, `acceptEdits`; null for `default`. */
  permissionMode?: PermissionMode | null;
  /** Title for people; null removes it. */
  title?: string | null;
}

/** Tokens and cost of one turn, including its sub-agents. Never cumulative over the session. */
export interface Usage {
  /** Input tokens that were written to a cache. Omitted if the agent does not report them. */
  cache_write_tokens?: number | null;
  /** Input tokens that were read from a cache. Omitted if the agent does not report them. */
  cached_input_tokens?: number | null;
  /** Cost in US dollars. Omitted if the agent does not report it or the turn's share is not known. */
  cost_usd?: number | null;
  /** All input tokens, including cached ones. */
  input_tokens: number;
  /** The model that was used. Omitted if the agent does not report it. */
  model?: string | null;
  /** All output tokens, including reasoning. */
  output_tokens: number;
  /** Output tokens of reasoning. Omitted if the agent does not report them. */
  reasoning_tokens?: number | null;
}

/** A breach of a rule. */
export interface Violation {
  /** What was expected and what was found. */
  message: string;
  /** The rule, `L1` to `L18`; null if the event could not be read. */
  rule: string | null;
  /** Sequence of the event that breaks the rule. */
  sequence: number;
}

/** Whether reasoning may be shown to the user. */
export type Visibility = "public" | "private" | (string & {});

/** A page to fetch or a web search. */
export interface WebInput {
  /** Search query. Omitted if a page is fetched. */
  query?: string | null;
  /** URL of the page. Omitted for a search. */
  url?: string | null;
}
