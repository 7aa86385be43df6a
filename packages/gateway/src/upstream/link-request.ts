import type { Cancellation, JsonObject } from '@sallyport/core'
import type { AskClient, Client } from './client.ts'
import type { Look } from './transport.ts'

/** How long a request may take without progress, where somebody has said so for just this. */
export interface CallLimit {
  /** In milliseconds. */
  readonly timeout: number
  /** Where that is said, for whoever waits longer than that. */
  readonly setBy: string
}

/** What is asked of a server. */
export interface LinkRequest {
  readonly method: string
  readonly params: JsonObject
  /** The tool, prompt or URI it is about. Only what a client asked for has one. */
  readonly name?: string | undefined
  /** What HTTP repeats of it in the modern era, names and values in turn. */
  readonly headers?: readonly string[] | undefined
  /** What `_meta` says of its trace in the modern era. */
  readonly trace?: JsonObject | undefined
  /** What `_meta` says of its trace in both eras, in place of all else: we take part in it ourselves. */
  readonly span?: JsonObject | undefined
  /** Whose work it is, user and session. */
  readonly session?: string | undefined
  /** For whom it is asked; nobody where a program of ours asks. */
  readonly client?: Client | undefined
  /** Puts a question of the server to that client. */
  readonly ask?: AskClient | undefined
  /** In place of the server's own. */
  readonly limit?: CallLimit | undefined
  /** Asked right before it is sent where it had to wait for anything: why it must not be, if anything. */
  readonly look?: Look | undefined
  readonly cancellation?: Cancellation | undefined
  readonly onProgress?: ((progress: JsonObject) => void) | undefined
  /** An entry lets keys and tokens pass, also in what the server tells while it runs. */
  readonly mayTellSecrets?: boolean | undefined
  /** Only values of a schema go back to its client: no words of the server's reach it, while it runs or later. */
  readonly isQuarantined?: boolean | undefined
  /** It is no use of the server: one that nobody uses may rest meanwhile. */
  readonly isBackground?: boolean | undefined
  /** Under which id it goes out: what the server says of it refers to that. */
  readonly onSent?: (id: number) => void
}
