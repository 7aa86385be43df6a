import { basename, extname } from 'node:path'
import type { Json, JsonObject } from '@sallyport/core'
import type { AgentAdapter, AgentPlace, NativeFile } from './agent-adapter.ts'
import type { GatewayWindow } from './agent-overlay.ts'
import { overlayOf } from './overlays.ts'
import { tomlValue } from './toml-value.ts'

/** How our window gets its token: from a variable that the entry names, or with all others, or from the entry itself. */
export type TokenWay = 'named' | 'inherited' | 'pasted'

export interface ConnectEntry {
  /** Where it belongs. */
  readonly file: string | undefined
  /** In the format of that file, with the keys that lead to it. */
  readonly text: string
  readonly tokenWay: TokenWay
}

export interface ConnectOptions {
  readonly place: AgentPlace
  readonly window: GatewayWindow
  /** The environment variable that holds the token. */
  readonly variable: string
  /** For an agent that cannot read variables; without it, what a person has to put there. */
  readonly token?: string | undefined
}

interface Manner {
  /** What the entry says besides the command, where no overlay knows it. */
  readonly extra?: JsonObject
  /** The key of an entry's variables. */
  readonly key?: string
  /** How the value of a variable is written. */
  readonly value?: (variable: string) => Json
  readonly way?: TokenWay
}

const NAME = 'gw'
const braced = (variable: string): string => `\${${variable}}`
const editor = (variable: string): string => `\${env:${variable}}`
const curly = (variable: string): string => `{env:${variable}}`

const MANNERS: Readonly<Record<string, Manner>> = {
  amp: { value: braced },
  'claude-code': { value: braced },
  copilot: { value: braced },
  crush: { extra: { type: 'stdio' }, value: (variable) => `$${variable}` },
  cursor: { extra: { type: 'stdio' }, value: editor },
  droid: { value: braced },
  'gemini-cli': { value: braced },
  goose: { way: 'inherited' },
  kilo: { key: 'environment', value: curly },
  kimi: { way: 'inherited' },
  opencode: { key: 'environment', value: curly },
  'qwen-code': { way: 'inherited' },
  vscode: { extra: { type: 'stdio' }, value: editor },
}

/** The entry that connects an agent with the gateway for good, for a person to paste (AG-16). */
export function connectEntry(adapter: AgentAdapter, { place, window, variable, token }: ConnectOptions): ConnectEntry {
  const file = adapter.nativeFiles(place).find(({ scope }) => scope === 'user')
  const manner = MANNERS[adapter.id] ?? {}
  const written = overlayOf(adapter.id)?.entry(window) ?? { ...manner.extra, ...window }
  const isToml = extname(file?.path ?? '') === '.toml'
  if (isToml) return { file: file?.path, text: tomlTable({ ...written, env_vars: [variable] }), tokenWay: 'named' }
  const way = manner.way ?? (manner.value ? 'named' : 'pasted')
  const value = manner.value?.(variable) ?? token ?? '<the token>'
  const entry = way === 'inherited' ? written : { ...written, [manner.key ?? 'env']: { [variable]: value } }
  return { file: file?.path, text: `${JSON.stringify(nested(adapter, file, entry), undefined, 2)}\n`, tokenWay: way }
}

const tomlTable = (entry: JsonObject): string =>
  [
    `[mcp_servers.${NAME}]`,
    ...Object.entries(entry).map(([key, value]) => `${key} = ${tomlValue(value ?? '')}`),
    '',
  ].join('\n')

/** Below the keys that lead to the servers of this agent. */
function nested(adapter: AgentAdapter, file: NativeFile | undefined, entry: JsonObject): Json {
  const path = file === undefined ? ['mcpServers'] : adapter.getMcpConfig('{}', file).serversAt
  const isList = basename(file?.path ?? '') === 'config.yaml' && adapter.id === 'continue'
  const servers: Json = isList ? [{ name: NAME, ...entry }] : { [NAME]: entry }
  return path.reduceRight<Json>((inner, key) => ({ [key]: inner }), servers)
}
