import { dirname, resolve } from 'node:path'
import { isJsonObject, type JsonObject } from '@sallyport/core'
import { parseJson } from './files/parse-json.ts'
import { readNativeFile } from './files/read-native-file.ts'

/** Settings with `enabledPlugins` and `extraKnownMarketplaces`, which several agents understand in the same way. */
export interface PluginSettings {
  readonly files: readonly string[]
  /** From where the agent sees relative paths besides. */
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
 * Servers of plugins that settings switch on and that are not installed: from a folder they are used where they lie,
 * and others the agent fetches when it starts.
 */
export async function findEnabledPluginServers(settings: PluginSettings): Promise<readonly string[]> {
  const { files, cwd, isInstalled, findPluginServers } = settings
  const read = (await Promise.all(files.map(async (file) => ({ file, said: await readSettings(file) })))).flatMap(
    ({ file, said }) => (said === undefined ? [] : [{ file, said }]),
  )
  const folders = new Map(read.flatMap(({ file, said }) => listLocalMarketplaces(said, [dirname(file), cwd])))
  const enabled = read.flatMap(({ file, said }) => listEnabledPlugins(said).map((id): EnabledPlugin => ({ id, file })))
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

/** Those that are a folder of this machine, by name. */
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
