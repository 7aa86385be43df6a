import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type CuttingProxy, openCuttingProxy } from './cutting-proxy.ts'
import { endProcess, REPOSITORY } from './run-gateway.ts'

const PROGRAM = join(REPOSITORY, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
const fixture = (name: string): string => join(REPOSITORY, 'tests/fixtures', name)

/** The reference server from npm, over one of its transports, and everything that it received. */
export interface EverythingServer {
  /** For `mcp_servers`. */
  readonly entry: object
  receivedText(): string
  close(): Promise<void>
}

/** Over stdio; the gateway starts it, as often as it likes. */
export function createLocalEverything(): EverythingServer {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-everything-'))
  const file = join(folder, 'told.jsonl')
  writeFileSync(file, '')
  return {
    entry: { command: process.execPath, args: [fixture('recording-pipe.mjs'), file, PROGRAM] },
    receivedText: () => readFileSync(file, 'utf8'),
    close: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Over Streamable HTTP, on a free port. */
export async function openRemoteEverything(): Promise<EverythingServer> {
  const child = spawn(process.execPath, [`--import=${fixture('on-loopback.mjs')}`, PROGRAM, 'streamableHttp'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let received = ''
  const proxy: CuttingProxy = await openCuttingProxy({
    onSent: (text) => {
      received += text
    },
  })
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('{')) continue
    proxy.target = `http://127.0.0.1:${(JSON.parse(line) as { port: number }).port}`
    break
  }
  child.stdout.resume()
  return {
    entry: { url: `http://127.0.0.1:${proxy.port}/mcp` },
    receivedText: () => received,
    close: async () => {
      await proxy.close()
      await endProcess(child)
    },
  }
}
