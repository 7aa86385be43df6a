import { basename, extname } from 'node:path'
import type { Json, JsonObject } from '@sallyport/core'
import type { AgentAdapter, HostContext, NativeFile } from './agent-adapter.ts'
import type { WindowCommand } from './agent-overlay.ts'
import { formatTomlValue } from './files/format-toml-value.ts'
import { findOverlay } from './overlays.ts'

/**
 * How our window gets its token: from a variable that the entry names, by inheriting all variables, or from the entry.
 */
export type TokenSource = 'named' | 'inherited' | 'pasted'

export interface ConnectEntry {
  /** The file to paste the entry into. */
  readonly file: string | undefined
  /** In the format of that file, with the keys that lead to it. */
  readonly text: string
  readonly tokenSource: TokenSource
}

export interface ConnectOptions {
  readonly host: HostContext
  readonly window: WindowCommand
  /** The environment variable that holds the token. */
  readonly variable: string
  /** For an agent that cannot read variables; if missing, a placeholder is base. */
  readonly token?: string | undefined
}

interface EntryFormat {
  /** Further keys of the entry, if the agent has no overlay that defines them. */
  readonly extra?: JsonObject
  /** The key of an entry's variables. */
  readonly envKey?: string
  /** How the value of a variable is base. */
  readonly formatReference?: (variable: string) => Json
  readonly tokenSource?: TokenSource
}

const NAME = 'gw'
const braced = (variable: string): string => `\${${variable}}`
const editor = (variable: string): string => `\${env:${variable}}`
const curly = (variable: string): string => `{env:${variable}}`

const ENTRY_FORMATS: Readonly<Record<string, EntryFormat>> = {
  amp: { formatReference: braced },
  'claude-code': { formatReference: braced },
  copilot: { formatReference: braced },
  crush: { extra: { type: 'stdio' }, formatReference: (variable) => `$${variable}` },
  cursor: { extra: { type: 'stdio' }, formatReference: editor },
  droid: { formatReference: braced },
  'gemini-cli': { formatReference: braced },
  goose: { tokenSource: 'inherited' },
  kilo: { envKey: 'environment', formatReference: curly },
  kimi: { tokenSource: 'inherited' },
  opencode: { envKey: 'environment', formatReference: curly },
  'qwen-code': { tokenSource: 'inherited' },
  vscode: { extra: { type: 'stdio' }, formatReference: editor },
}

/** The entry that connects an agent with the gateway permanently, for a person to paste (AG-16). */
export function buildConnectEntry(
  adapter: AgentAdapter,
  { host, window, variable, token }: ConnectOptions,
): ConnectEntry {
  const file = adapter.nativeFiles(host).find(({ scope }) => scope === 'user')
  const format = ENTRY_FORMATS[adapter.id] ?? {}
  const base = findOverlay(adapter.id)?.createEntry(window) ?? { ...format.extra, ...window }
  const isToml = extname(file?.path ?? '') === '.toml'
  if (isToml) return { file: file?.path, text: tomlTable({ ...base, env_vars: [variable] }), tokenSource: 'named' }
  const tokenSource = format.tokenSource ?? (format.formatReference ? 'named' : 'pasted')
  const value = format.formatReference?.(variable) ?? token ?? '<the token>'
  const entry = tokenSource === 'inherited' ? base : { ...base, [format.envKey ?? 'env']: { [variable]: value } }
  return {
    file: file?.path,
    text: `${JSON.stringify(nested(adapter, file, entry), undefined, 2)}\n`,
    tokenSource: tokenSource,
  }
}

const tomlTable = (entry: JsonObject): string =>
  [
    `[mcp_servers.${NAME}]`,
    ...Object.entries(entry).map(([key, value]) => `${key} = ${formatTomlValue(value ?? '')}`),
    '',
  ].join('\n')

/** Nests the entry under the keys that lead to the servers of this agent. */
function nested(adapter: AgentAdapter, file: NativeFile | undefined, entry: JsonObject): Json {
  const path = file === undefined ? ['mcpServers'] : adapter.getMcpConfig('{}', file).serversPath
  const isList = basename(file?.path ?? '') === 'config.yaml' && adapter.id === 'continue'
  const servers: Json = isList ? [{ name: NAME, ...entry }] : { [NAME]: entry }
  return path.reduceRight<Json>((inner, key) => ({ [key]: inner }), servers)
}
