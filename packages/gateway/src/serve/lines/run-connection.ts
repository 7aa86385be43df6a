import type { Duplex } from 'node:stream'
import { messageOf, SallyportError } from '@sallyport/core'
import { LineReader } from '@sallyport/kit/line-reader'
import type { AdminContext } from '../admin/admin-context.ts'
import { mintToken, revokeToken, type TokenRequest } from '../admin/mint-token.ts'
import { toProblem } from '../problem.ts'

/** A request of `sallyport run`: one per line. Each is answered with one line, in order. */
export type RunRequest = { readonly mint: TokenRequest } | { readonly revoke: string }

export interface RunConnectionOptions {
  readonly stream: Duplex
  readonly context: AdminContext
  /** Ids of the tokens that it got from an earlier gateway. */
  readonly tokens: readonly string[]
}

const MAX_LINE_BYTES = 1_048_576

/** The connection with which a run keeps the gateway alive and gets its tokens. */
export class RunConnection {
  readonly #stream: Duplex
  readonly #context: AdminContext
  readonly #tokens: Set<string>
  #replies: Promise<void> = Promise.resolve()

  constructor({ stream, context, tokens }: RunConnectionOptions) {
    this.#stream = stream
    this.#context = context
    this.#tokens = new Set(tokens)
    const reader = new LineReader({
      limit: MAX_LINE_BYTES,
      onLine: (line) => {
        this.#replies = this.#replies.then(() => this.#answer(line.toString()))
      },
      onOversized: () => stream.destroy(),
    })
    stream.on('data', (chunk: Buffer) => reader.feed(chunk)).once('end', () => stream.end())
  }

  /** Revokes its tokens, also one that is still being created. If the disk fails, the next run cleans up. */
  async end(): Promise<void> {
    await this.#replies
    for (const id of this.#tokens) await this.#context.tokens.revoke(id).catch(() => false)
  }

  async #answer(line: string): Promise<void> {
    const reply = await this.#handle(line).catch((error: unknown) =>
      toProblem(error instanceof SallyportError ? error : new SallyportError('INTERNAL', messageOf(error))),
    )
    if (this.#stream.writable) this.#stream.write(`${JSON.stringify(reply)}\n`)
  }

  async #handle(line: string): Promise<object> {
    const request = JSON.parse(line) as RunRequest
    if ('mint' in request) {
      const minted = await mintToken(this.#context, request.mint)
      this.#tokens.add(minted.record.id)
      return minted
    }
    await revokeToken(this.#context, request.revoke)
    this.#tokens.delete(request.revoke)
    return { id: request.revoke }
  }
}
