import { stat } from 'node:fs/promises'
import { SallyportError } from '@sallyport/core'
import type { AgentAdapter, HostContext, NativeConfig, NativeFile } from './agent-adapter.ts'
import { readNativeFile } from './files/read-native-file.ts'

/** One file of an agent, and the result of reading it. */
export type NativeFileResult = { readonly file: NativeFile } & (
  | { readonly state: 'missing' }
  | { readonly state: 'read'; readonly config: NativeConfig }
  /** The file is reported; the other files are not affected. */
  | { readonly state: 'broken'; readonly error: SallyportError }
)

/** Reads all files of an agent. A broken or unreadable file does not affect the others (AG-3). */
export async function readAgentConfigs(adapter: AgentAdapter, host: HostContext): Promise<readonly NativeFileResult[]> {
  return Promise.all(adapter.nativeFiles(host).map((file) => readNativeConfig(adapter, file)))
}

/** Anyone who can write the file can make the agent, or the gateway after an import, start any program. */
async function checkForeignWriters(path: string): Promise<readonly string[]> {
  const [user, group] = [process.getuid?.(), process.getgid?.()]
  const found = user === undefined ? undefined : await stat(path).catch(() => undefined)
  if (found === undefined) return []
  const isTheirs = found.uid !== user && found.uid !== 0
  const isOpen = (found.mode & 0o002) !== 0 || ((found.mode & 0o020) !== 0 && found.gid !== group)
  if (!isTheirs && !isOpen) return []
  return [
    isTheirs
      ? 'It belongs to another user, who can start programs as you through it.'
      : 'Other users may write to it, and so start programs as you. To prevent that: chmod go-w.',
  ]
}

async function readNativeConfig(adapter: AgentAdapter, file: NativeFile): Promise<NativeFileResult> {
  try {
    const text = await readNativeFile(file.path)
    if (text === undefined) return { file, state: 'missing' }
    const config = adapter.getMcpConfig(text, file)
    const problems = [...config.problems, ...(await checkForeignWriters(file.path))]
    return { file, state: 'read', config: { ...config, problems } }
  } catch (error) {
    if (!(error instanceof SallyportError)) throw error
    return { file, state: 'broken', error }
  }
}
