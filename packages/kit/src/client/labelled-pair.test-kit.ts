import type { Sensitivity } from '@sallyport/core'
import { createMcpServer, type McpServer } from '../mcp-server.ts'
import { READ } from '../permission.ts'
import { brandWholeResult } from '../tool-result.ts'
import { RecordingServer } from './recording-server.test-kit.ts'

/** Answers to calls that a test holds back, by the id in their arguments. */
export class Gates {
  readonly #open = new Map<number, PromiseWithResolvers>()

  pass(id: number): Promise<void> {
    return this.#gate(id).promise
  }

  release(id: number): void {
    this.#gate(id).resolve()
  }

  #gate(id: number): PromiseWithResolvers {
    const known = this.#open.get(id)
    if (known !== undefined) return known
    let resolve = (): void => {}
    const promise = new Promise<void>((done) => {
      resolve = done
    })
    const gate = { promise, resolve }
    this.#open.set(id, gate)
    return gate
  }
}

interface PromiseWithResolvers {
  readonly promise: Promise<void>
  readonly resolve: () => void
}

export const labelled = (sensitivity: string) => ({
  'sallyport/private_data': { sensitivity, datasets: [{ name: 'people', sensitivity }] },
})

const CALL = {
  type: 'object',
  properties: { id: { type: 'integer' }, label: { type: 'string' } },
  required: ['id'],
} as const

function createInstance(name: string, gates: Gates): McpServer {
  const server = createMcpServer(name, { version: '1.0.0' })
  server.tool('load', { description: 'Loads', permission: READ, input: CALL }, async ({ id, label }) => {
    await gates.pass(id)
    return brandWholeResult({
      content: [{ type: 'text', text: name }],
      ...(label !== undefined && { _meta: labelled(label as Sensitivity) }),
    })
  })
  server.resourceTemplate('notes://{id}', { name: 'note', description: 'A note' }, () => name)
  server.prompt('greet', { description: 'Greets', arguments: [{ name: 'id' }] }, () => name)
  return server
}

export interface LabelledPair {
  readonly normal: RecordingServer
  readonly isolated: RecordingServer
  readonly gates: Gates
  close(): Promise<void>
}

/** Two instances of one server, each on its own port. Only the normal one has the tool `browse`. */
export async function openLabelledPair(): Promise<LabelledPair> {
  const gates = new Gates()
  const wide = createInstance('normal', gates)
  wide.tool('browse', { description: 'Browses', permission: READ }, () => 'the web')
  const normal = await new RecordingServer(wide).listen()
  const isolated = await new RecordingServer(createInstance('isolated', gates)).listen()
  const close = async (): Promise<void> => {
    await normal.close()
    await isolated.close()
  }
  return { normal, isolated, gates, close }
}
