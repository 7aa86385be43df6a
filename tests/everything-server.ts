import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type CuttingProxy, openCuttingProxy } from './cutting-proxy.ts'
import { endProcess, REPOSITORY } from './run-gateway.ts'

const PROGRAM = join(REPOSITORY, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
const fixture = (name: string): string => join(REPOSITORY, 'tests/fixtures', name)

/** The reference server from npm, over one of its transports, and all that it was told. */
export interface EverythingServer {
  /** For `mcp_servers`. */
  readonly entry: object
  told(): string
  close(): Promise<void>
}

/** Over stdio; the gateway starts it, as often as it likes. */
export function createLocalEverything(): EverythingServer {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-everything-'))
  const file = join(folder, 'told.jsonl')
  writeFileSync(file, '')
  return {
    entry: { command: process.execPath, args: [fixture('recording-pipe.mjs'), file, PROGRAM] },
    told: () => readFileSync(file, 'utf8'),
    close: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Over Streamable HTTP, on a free port. */
export async function openRemoteEverything(): Promise<EverythingServer> {
  const child = spawn(process.execPath, [`--import=${fixture('on-loopback.mjs')}`, PROGRAM, 'streamableHttp'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let told = ''
  const proxy: CuttingProxy = await openCuttingProxy({
    onSent: (text) => {
      told += text
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
    told: () => told,
    close: async () => {
      await proxy.close()
      await endProcess(child)
    },
  }
}
