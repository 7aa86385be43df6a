import { dirname, resolve } from 'node:path'
import { isJsonObject, type JsonObject } from '@sallyport/core'
import { parseJson } from './files/parse-json.ts'
import { readNativeFile } from './files/read-native-file.ts'

/** Settings with `enabledPlugins` and `extraKnownMarketplaces`, which several agents interpret in the same way. */
export interface PluginSettings {
  readonly files: readonly string[]
  /** The agent also resolves relative paths from here. */
  readonly cwd: string
  /** Whether a plugin is in the agent's own folder, where it was searched for servers. */
  isInstalled(id: string): boolean
  findPluginServers(folder: string): Promise<readonly string[]>
}

interface EnabledPlugin {
  readonly id: string
  readonly file: string
}

/**
 * Servers of plugins that settings enable but that are not installed: the agent uses plugins in a local folder
 * directly, and downloads others when it starts.
 */
export async function findEnabledPluginServers(settings: PluginSettings): Promise<readonly string[]> {
  const { files, cwd, isInstalled, findPluginServers } = settings
  const read = (await Promise.all(files.map(async (file) => ({ file, content: await readSettings(file) })))).flatMap(
    ({ file, content }) => (content === undefined ? [] : [{ file, content }]),
  )
  const folders = new Map(read.flatMap(({ file, content }) => listLocalMarketplaces(content, [dirname(file), cwd])))
  const enabled = read.flatMap(({ file, content }) =>
    listEnabledPlugins(content).map((id): EnabledPlugin => ({ id, file })),
  )
  const found = enabled.map(async ({ id, file }) => {
    const known = folders.get(id.slice(id.lastIndexOf('@') + 1))
    if (known !== undefined) return (await Promise.all(known.map(findPluginServers))).flat()
    return isInstalled(id) ? [] : [`"${id}" of enabledPlugins in ${file}`]
  })
  return [...new Set((await Promise.all(found)).flat())]
}

async function readSettings(file: string): Promise<JsonObject | undefined> {
  const text = await readNativeFile(file)
  const parsed = text === undefined ? undefined : parseJson(text)
  return parsed?.ok && isJsonObject(parsed.value) ? parsed.value : undefined
}

function listEnabledPlugins({ enabledPlugins }: JsonObject): readonly string[] {
  if (!isJsonObject(enabledPlugins)) return []
  return Object.keys(enabledPlugins).filter((id) => enabledPlugins[id] !== false)
}

/** Marketplaces that are a local folder, by name. */
function listLocalMarketplaces(
  { extraKnownMarketplaces }: JsonObject,
  bases: readonly string[],
): readonly (readonly [string, readonly string[]])[] {
  if (!isJsonObject(extraKnownMarketplaces)) return []
  return Object.entries(extraKnownMarketplaces).flatMap(([name, marketplace]) => {
    const source = isJsonObject(marketplace) ? marketplace.source : undefined
    const path = isJsonObject(source) ? source.path : undefined
    const isFolder = isJsonObject(source) && ['local', 'directory', 'file'].includes(String(source.source))
    return isFolder && typeof path === 'string' ? [[name, bases.map((base) => resolve(base, path))] as const] : []
  })
}
