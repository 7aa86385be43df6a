import { SallyportError } from '@sallyport/core'
import type { AgentAdapter, AgentPlace, NativeConfig, NativeFile } from './agent-adapter.ts'
import { readNativeFile } from './read-native-file.ts'

/** One place where an agent keeps servers, and what is there. */
export type NativeReading = { readonly file: NativeFile } & (
  | { readonly state: 'missing' }
  | { readonly state: 'read'; readonly config: NativeConfig }
  /** It can be told; nothing else depends on it. */
  | { readonly state: 'broken'; readonly error: SallyportError }
)

/** All that an agent says of its servers. A file that is broken or cannot be read spoils no other (AG-3). */
export async function readAgent(adapter: AgentAdapter, place: AgentPlace): Promise<readonly NativeReading[]> {
  return Promise.all(adapter.nativeFiles(place).map((file) => readOne(adapter, file)))
}

async function readOne(adapter: AgentAdapter, file: NativeFile): Promise<NativeReading> {
  try {
    const text = await readNativeFile(file.path)
    if (text === undefined) return { file, state: 'missing' }
    return { file, state: 'read', config: adapter.getMcpConfig(text, file) }
  } catch (error) {
    if (!(error instanceof SallyportError)) throw error
    return { file, state: 'broken', error }
  }
}
