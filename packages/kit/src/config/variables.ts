import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseEnv } from 'node:util'
import type { Environment } from '../identity/identity.ts'
import { readTextFile } from './config-file.ts'

export type VariableLookup = (name: string) => string | undefined

/**
 * What `${NAME}` stands for: the environment, then `.env` beside the configuration. Not that of the working folder,
 * which may be a repository of somebody else, who must not decide where an operator's token goes. That file is read for
 * references alone: it never replaces a variable that is set, and nothing of it gets into the environment that children
 * inherit.
 */
export async function readVariables(configFile: string, environment: Environment): Promise<VariableLookup> {
  const extra = await readDotEnv(join(dirname(configFile), '.env'))
  return (name) => ownValue(environment, name) ?? ownValue(extra, name)
}

type Variables = Readonly<Record<string, string | undefined>>

async function readDotEnv(path: string): Promise<Variables> {
  const found = await stat(path).catch(() => undefined)
  // Python calls a folder so.
  if (found?.isDirectory()) return {}
  const text = await readTextFile(path)
  return text === undefined ? {} : parseEnv(text.replace(/^\uFEFF/, ''))
}

/** Never something that objects have anyway (`constructor`). */
const ownValue = (from: Variables, name: string): string | undefined =>
  Object.hasOwn(from, name) ? from[name] : undefined
