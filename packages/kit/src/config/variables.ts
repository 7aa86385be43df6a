import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { type ConfigPlace, readText } from './config-file.ts'

export type Lookup = (name: string) => string | undefined

/**
 * What `${NAME}` stands for: the environment, then `.env` of the working folder. That file is read for references
 * alone: it never replaces a variable that is set, and nothing of it gets into the environment that children inherit.
 */
export async function readVariables({ environment, cwd }: ConfigPlace): Promise<Lookup> {
  const text = await readText(join(cwd, '.env'))
  const extra: Readonly<Record<string, string | undefined>> = text === undefined ? {} : parseEnv(text)
  return (name) => ownValue(environment, name) ?? ownValue(extra, name)
}

/** Never something that objects have anyway (`constructor`). */
const ownValue = (from: Readonly<Record<string, string | undefined>>, name: string): string | undefined =>
  Object.hasOwn(from, name) ? from[name] : undefined
