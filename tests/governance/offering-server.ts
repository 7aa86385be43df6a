import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { REPOSITORY } from '../harness/run-gateway.ts'

export interface Offers {
  readonly instructions?: string
  readonly tools?: readonly object[]
  readonly prompts?: readonly object[]
  readonly resources?: readonly object[]
  readonly resourceTemplates?: readonly object[]
}

/** A server whose offers a test can change while it runs. */
export interface OfferingServer {
  /** For `mcp_servers`. */
  readonly entry: object
  offer(offers: Offers): void
  /** What was really called, got or read. */
  used(): readonly string[]
}

const SERVER = join(REPOSITORY, 'tests/fixtures/offering-server.mjs')

export function createOfferingServer(first: Offers): OfferingServer {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-offering-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'offers.json')
  const offer = (offers: Offers): void => {
    writeFileSync(`${file}.new`, JSON.stringify(offers))
    renameSync(`${file}.new`, file)
  }
  offer(first)
  return {
    entry: { command: process.execPath, args: [SERVER, file] },
    offer,
    used: () => (existsSync(`${file}.used`) ? readFileSync(`${file}.used`, 'utf8').split('\n').filter(Boolean) : []),
  }
}
