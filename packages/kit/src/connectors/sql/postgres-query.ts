import type { SqlLimits } from './sql-result.ts'

/** The part of pg's connection that runs a statement; `client.query` passes it to a submittable. */
interface PostgresConnection {
  readonly stream: NodeJS.EventEmitter & {
    readonly bytesRead?: number
    destroy(): void
    cork?(): void
    uncork?(): void
  }
  parse(query: { readonly text: string; readonly name: string }): void
  bind(query: {
    readonly portal: string
    readonly statement: string
    readonly values: readonly (string | null)[]
  }): void
  describe(query: { readonly type: 'P'; readonly name: string }): void
  execute(query: { readonly portal: string; readonly rows: number }): void
  close(query: { readonly type: 'P'; readonly name: string }): void
  flush(): void
  sync(): void
  sendCopyFail(reason: string): void
}

interface PostgresField {
  readonly name: string
  readonly dataTypeID: number
}

export interface PostgresQueryOptions {
  readonly text: string
  readonly values: readonly (string | null)[]
  readonly limits: SqlLimits
  onFields(fields: readonly PostgresField[]): void
  /** Returns false if no more rows are needed. */
  onRow(values: readonly (string | null)[]): boolean
}

const BATCH_ROWS = 100
/** A margin for the size of a row on the wire, on top of the limit of the result. */
const SLACK_BYTES = 8 * 1024 * 1024

/**
 * One statement over the extended protocol: the server itself refuses a second statement, and sends rows in batches
 * until there are enough.
 */
export class PostgresQuery {
  readonly #options: PostgresQueryOptions
  readonly #deferred = createDeferred<string>()
  #wantsMore = true
  #failure: unknown
  #tag = ''
  #stopWatching: () => void = () => undefined

  constructor(options: PostgresQueryOptions) {
    this.#options = options
  }

  /** Resolves with the command's tag, such as `UPDATE 3`. */
  get done(): Promise<string> {
    return this.#deferred.promise
  }

  submit(connection: PostgresConnection): null {
    this.#watchBytes(connection)
    const { text, values } = this.#options
    connection.stream.cork?.()
    connection.parse({ text, name: '' })
    connection.bind({ portal: '', statement: '', values })
    connection.describe({ type: 'P', name: '' })
    this.#fetch(connection)
    connection.stream.uncork?.()
    return null
  }

  handleRowDescription({ fields }: { readonly fields: readonly PostgresField[] }): void {
    this.#captureError(() => this.#options.onFields(fields))
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    if (!this.#wantsMore) return
    this.#captureError(() => {
      this.#wantsMore = this.#options.onRow(fields)
    })
  }

  handlePortalSuspended(connection: PostgresConnection): void {
    if (this.#wantsMore) return this.#fetch(connection)
    connection.close({ type: 'P', name: '' })
    connection.sync()
  }

  handleCommandComplete({ text }: { readonly text: string }, connection: PostgresConnection): void {
    this.#tag = text
    connection.sync()
  }

  handleEmptyQuery(connection: PostgresConnection): void {
    connection.sync()
  }

  handleCopyInResponse(connection: PostgresConnection): void {
    connection.sendCopyFail('there is nothing to copy from')
  }

  handleCopyData(): void {
    // COPY TO STDOUT: its rows have no columns, so they are ignored.
  }

  /** After an error pg calls no other method of this query, not even when the server is ready again. */
  handleError(error: Error, connection: PostgresConnection): void {
    // An error without a severity comes from pg itself: the connection is lost.
    if ('severity' in error) connection.sync()
    this.#settle(() => this.#deferred.reject(error))
  }

  handleReadyForQuery(): void {
    const failure = this.#failure
    this.#settle(() => (failure === undefined ? this.#deferred.resolve(this.#tag) : this.#deferred.reject(failure)))
  }

  /** This runs inside a socket event, where an exception would end the process. So it is stored until the statement is over. */
  #captureError(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#wantsMore = false
      this.#failure = new UnreadableRow('a row cannot be read', { cause: error })
    }
  }

  #fetch(connection: PostgresConnection): void {
    connection.execute({ portal: '', rows: BATCH_ROWS })
    connection.flush()
  }

  #settle(action: () => void): void {
    this.#stopWatching()
    action()
  }

  /** pg buffers a whole row, of up to a gigabyte, before it passes it on. So the size is checked on the wire. */
  #watchBytes({ stream }: PostgresConnection): void {
    const maxBytesRead = (stream.bytesRead ?? 0) + this.#options.limits.maxBytes * 4 + SLACK_BYTES
    const watch = (): void => {
      if ((stream.bytesRead ?? 0) <= maxBytesRead) return
      this.#settle(() => this.#deferred.reject(new TooManyBytes()))
      stream.destroy()
    }
    stream.on('data', watch)
    this.#stopWatching = () => stream.off('data', watch)
  }
}

export class TooManyBytes extends Error {
  override readonly name = 'TooManyBytes'
}

export class UnreadableRow extends Error {
  override readonly name = 'UnreadableRow'
}

interface Deferred<Value> {
  readonly promise: Promise<Value>
  resolve(value: Value): void
  reject(reason: unknown): void
}

function createDeferred<Value>(): Deferred<Value> {
  let resolve: (value: Value) => void = () => undefined
  let reject: (reason: unknown) => void = () => undefined
  const promise = new Promise<Value>((onValue, onReason) => {
    resolve = onValue
    reject = onReason
  })
  return { promise, resolve, reject }
}
